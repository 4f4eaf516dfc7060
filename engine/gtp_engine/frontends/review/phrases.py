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


def counted(what: str, number: float) -> str:
    """Return "1 stone" or "3 stones"; points have a decimal unless it is nought."""
    count = f"{number:.1f}".removesuffix(".0")
    return phrase("counts", what if count == "1" else f"{what}s", count=count)
