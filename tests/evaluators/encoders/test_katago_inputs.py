"""KataGo's encoders against the inputs that KataGo itself fed, bit by bit."""

from pathlib import Path

import numpy as np
import pytest
from tests.evaluators.reference_rows import planes_of, position_of, read_rows

from gtp_engine.evaluators.encoders.inputs import Seen, find_encoder
from gtp_engine.evaluators.nets.net_info import ENCODERS
from gtp_engine.go.ladders import new_reader
from gtp_engine.go.symmetry import point_table

# Encoders of nets before model version 8, by the beginning of the file's name.
EARLY = {
    "kata-v3": "katago_v3",
    "kata-v4": "katago_v3",
    "kata-v5": "katago_v4",
    "kata-v6": "katago_v5",
    "kata-v7": "katago_v6",
}
PASS_ALIVE_UNDER_SUICIDE = "kata-v17-mixed-conv-tfr-q-passalive-meta"


def encoder_of(path: Path) -> str:
    version = "-".join(path.name.split("-")[:2])
    return EARLY.get(version, "katago_v7")


@pytest.mark.parametrize(
    "encoder", ["katago_v3", "katago_v4", "katago_v5", "katago_v6", "katago_v7"]
)
def test_every_row(reference_data: Path, encoder: str) -> None:
    _, n_planes, n_features = ENCODERS[encoder]
    encode = find_encoder(encoder)
    reader = new_reader()
    files = [
        path
        for path in sorted((reference_data / "nets" / "tiny").glob("kata-*.reference.jsonl"))
        if encoder_of(path) == encoder
    ]
    assert files
    for path in files:
        suicide_alive = int(path.name.startswith(PASS_ALIVE_UNDER_SUICIDE))
        for row in read_rows(path):
            position = position_of(row)
            width, height = position.width, position.height
            planes = np.full((n_planes, height, width), 9, np.uint8)
            features = np.full(n_features, 9.0, np.float32)
            game = position.history, position.ply, position.rules.flags
            seen = Seen(*game, reader, point_table(width, height)[0], suicide_alive)
            encode(seen, planes, features)
            where = f"{path.name} row {row['id']}"
            for plane, expected in enumerate(planes_of(row)):
                assert (planes[plane] == expected).all(), f"{where}: plane {plane}"
            told = np.array(row["input"]["global"])
            if row.get("playout_doubling_advantage"):
                told[15:17] = 0.0  # both players search alike here
            np.testing.assert_allclose(features, told, rtol=0, atol=1e-6, err_msg=where)
