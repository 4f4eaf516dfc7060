"""Batches of labelled positions, and between them batches of game records as they stand."""

import numpy as np

from gtp_export.learning.batch import Batch
from gtp_export.learning.record_task import RecordSource
from gtp_export.learning.sample_source import SampleSource


class MixedSource:
    """Draws a batch from one of two sources."""

    def __init__(self, labelled: SampleSource, records: RecordSource, record_share: float) -> None:
        """Take a given share of the batches from the records."""
        self._labelled = labelled
        self._records = records
        self._record_share = record_share

    @property
    def waited(self) -> float:
        """Seconds spent waiting for positions."""
        return self._records.waited

    def draw(self, generator: np.random.Generator) -> Batch:
        """Draw a batch; its targets tell which kind it is of."""
        if generator.random() < self._record_share:
            return self._records.draw(generator)
        return self._labelled.draw(generator)
