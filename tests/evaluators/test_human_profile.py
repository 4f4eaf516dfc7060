"""Human profiles: their names, and what a net is told of them."""

import math
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from tests.evaluators.reference_rows import read_rows

from gtp_engine.coords import BLACK, WHITE, parse_color
from gtp_engine.evaluators.human_profile import N_META, HumanProfile


@pytest.mark.parametrize(
    ("name", "black", "white", "day"),
    [
        ("rank_9d", 1, 1, date(2020, 3, 1)),
        ("rank_1d", 9, 9, date(2020, 3, 1)),
        ("rank_1k", 10, 10, date(2020, 3, 1)),
        ("rank_20k", 29, 29, date(2020, 3, 1)),
        ("rank_9d_3k", 1, 12, date(2020, 3, 1)),
        ("preaz_5k", 14, 14, date(2016, 9, 1)),
        ("preaz_5k_2d", 14, 8, date(2016, 9, 1)),
        ("proyear_1800", 1, 1, date(1800, 6, 1)),
        ("proyear_2023", 1, 1, date(2023, 6, 1)),
    ],
)
def test_names(name: str, black: int, white: int, day: date) -> None:
    profile = HumanProfile.parse(name)
    assert (profile.black_rank, profile.white_rank, profile.date) == (black, white, day)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "_",
        "rank_",
        "rank_10d",
        "rank_0k",
        "rank_21k",
        "rank_05k",
        "rank_5",
        "rank_5k_",
        "rank_5k_3k_1d",
        "Rank_5k",
        "preaz_9p",
        "proyear_1799",
        "proyear_2024",
        "proyear_20x0",
        "proyear_٢٠٠٠",
        "9d",
        "rank_5k\n",
    ],
)
def test_what_is_no_profile(name: str) -> None:
    with pytest.raises(ValueError, match="is no human profile; profiles look like rank_5k") as told:
        HumanProfile.parse(name)
    assert "\n" not in str(told.value)


def test_the_players_change_places_with_the_turn() -> None:
    profile = HumanProfile.parse("rank_9d_20k")
    black, white = profile.inputs(BLACK, 361), profile.inputs(WHITE, 361)
    assert len(black) == len(white) == N_META
    assert sum(black[6:40]) == 1 and sum(black[40:74]) == 29
    assert white[6:40] == black[40:74] and white[40:74] == black[6:40]
    assert white[:6] == black[:6] and white[74:] == black[74:]
    assert black[86] == 0.0
    assert profile.inputs(BLACK, 81)[86] == pytest.approx(0.5 * math.log(81 / 361))


def test_sources_of_professional_games() -> None:
    for year, source in ((2020, 5), (2021, 6)):
        numbers = HumanProfile.parse(f"proyear_{year}").inputs(BLACK, 361)
        assert [i for i in range(16) if numbers[151 + i]] == [source]
        assert numbers[74] == 0.0 and numbers[75:82] == [1.0] + [0.0] * 6


def test_every_row(reference_data: Path) -> None:
    files = sorted((reference_data / "nets" / "tiny").glob("*meta*.reference.jsonl"))
    assert files
    for path in files:
        for row in read_rows(path):
            profile = HumanProfile.parse(row["human_profile"])
            area = row["width"] * row["height"]
            found = profile.inputs(parse_color(row["to_play"]), area)
            np.testing.assert_allclose(found, row["input"]["meta"], rtol=0, atol=1e-6)


def test_a_digest_is_the_same_in_every_run() -> None:
    code = "from gtp_engine.evaluators.human_profile import HumanProfile as P; " + (
        "print(P.parse('rank_5k').digest, P.parse('rank_5k_4k').digest)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1 and len(set(found.pop().split())) == 2
