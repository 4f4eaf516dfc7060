"""The sentences of a review, from a file of templates that can be translated."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _phrases() -> dict[str, dict[str, Any]]:
    text = files("gtp_engine.frontends.review").joinpath("phrases.toml").read_text("utf-8")
    return tomllib.loads(text)


def phrase(group: str, name: str, **parts: object) -> str:
    """Return a sentence or a word, filled in."""
    return str(_phrases()[group][name]).format(**parts)


def names(group: str) -> list[str]:
    """Return a list of words, such as those of the classes of mistakes."""
    return list(_phrases()[group]["names"])


def amount_words(what: str, number: float) -> str:
    """Return "1 stone" or "3 stones"; points have a decimal unless it is nought."""
    count = f"{number:.1f}".removesuffix(".0")
    return phrase("counts", what if count == "1" else f"{what}s", count=count)


def loss_words(points: float, chance: float, by_chance: bool) -> str:
    """Return what a mistake cost, in points, or in chances where it is one by these alone.

    Args:
        chance: Winrate lost, 0 to 1.
    """
    if by_chance:
        return phrase("counts", "chance", percent=round(100 * chance))
    return amount_words("point", points)


def grade_of(mistake: dict[str, Any]) -> int | None:
    """Return the class of a mistake of a report; None for none."""
    grade: int | None = mistake["chance_class" if mistake["by_chance"] else "class"]
    return grade


def graded_loss(mistake: dict[str, Any]) -> str:
    """Return what a mistake of a report cost, with its class: "5 points (mistake)"."""
    words = loss_words(mistake["loss"], mistake["chance_lost"], mistake["by_chance"])
    grade = grade_of(mistake)
    return words if grade is None else f"{words} ({names('classes')[grade]})"
