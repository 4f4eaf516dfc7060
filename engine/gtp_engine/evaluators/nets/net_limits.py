"""What a net was not made for, in words. Only the standard library is imported here."""

from gtp_engine.evaluators.nets.net_info import NetInfo
from gtp_engine.games import game_of
from gtp_engine.go.rules import ATARI_GO, InvalidRulesError, Ko, Rules, Scoring, Tax


def list_doubts(info: NetInfo, rules: Rules, width: int, height: int) -> list[str]:
    """Return why a net's judgement may be off in a game, a sentence each; none if it is at home.

    Args:
        rules: The rules, with the komi.
    """
    doubts = []
    # A size the graph cannot take is an error, told elsewhere.
    if info.trained_sizes is not None and info.accepts(width, height):
        smallest, largest = info.trained_sizes
        sizes = f"{smallest}x{smallest}"
        if smallest == largest:
            is_known = width == height == smallest
        else:
            is_known = smallest <= max(width, height) <= largest  # so its sizes were drawn
            sizes += f" to {largest}x{largest}"
        if not is_known:
            doubts.append(f"was trained on boards of {sizes}, not {width}x{height}")
    is_atari_go = game_of(rules) == ATARI_GO
    if is_atari_go != (info.rules == ATARI_GO):
        made_for, played = ("Go", "Atari Go") if is_atari_go else ("Atari Go", "Go")
        doubts.append(f"was made for {made_for}, not {played}")
    elif not is_atari_go and not _knows_rules(info.rules, rules):
        area = "area scoring with superko, without tax or button"
        known = area if info.rules == "area" else f"{info.rules} rules"
        doubts.append(f"was made for {known}; under other rules its judgement may be off")
    komi = None if is_atari_go else _known_komi(info, rules.komi)  # it means nothing there
    if komi is not None:
        doubts.append(f"was made for komi {komi}, not {rules.komi:g}")
    return [f"warning: the net {info.name} {doubt}" for doubt in doubts]


def _knows_rules(known: str, rules: Rules) -> bool:
    if known == "any":
        return True
    if known == "area":
        plain = rules.scoring is Scoring.AREA and rules.tax is Tax.NONE and not rules.button
        return plain and rules.ko is not Ko.SIMPLE
    try:
        preset = Rules.parse(known)
    except InvalidRulesError:
        return True  # a description in words of its own
    return all(
        getattr(preset, name) == getattr(rules, name)
        for name in ("ko", "scoring", "tax", "button", "multi_stone_suicide")
    )


def _known_komi(info: NetInfo, komi: float) -> str | None:
    """Return the komi a net was made for, if that is not one of them."""
    low, high = info.komi_min, info.komi_max
    if low is not None and low == high and komi != low:
        return f"{low:g}"
    if low is not None and komi < low:
        return f"{low:g} and above" if high is None else f"{low:g} to {high:g}"
    if high is not None and komi > high:
        return f"up to {high:g}" if low is None else f"{low:g} to {high:g}"
    return None
