"""What the results of a match say about the strength of its players.

A draw counts as half a win and half a loss throughout.
"""

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


def t_95(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's distribution, from 2 degrees on within 4 %.

    M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.5.
    """
    z = Z_95
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % confidence interval."""

    low: float
    estimate: float
    high: float

    def __format__(self, form: str) -> str:
        """Return "ESTIMATE (95 %: LOW to HIGH)" for people, each number in a form such as .1%."""
        low, estimate, high = (f"{value:{form}}" for value in (self.low, self.estimate, self.high))
        return f"{estimate} (95 %: {low} to {high})"

    def to_json(self) -> list[float | None]:
        """Return low, estimate and high; JSON has no infinite Elo, which becomes null."""
        values = (self.low, self.estimate, self.high)
        return [value if math.isfinite(value) else None for value in values]


def wilson(wins: float, games: int) -> Interval:
    """Return the share of games won and its score interval of 95 %.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22 (1927), 209-212.

    Args:
        wins: Games won, half a one for each draw.
        games: Games played; without any, nothing is known.
    """
    if games == 0:
        return Interval(0.0, 0.5, 1.0)
    z = Z_95
    share = wins / games
    scale = 1.0 + z * z / games
    center = (share + z * z / (2 * games)) / scale
    spread = z / scale * math.sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    low = center - spread if wins > 0 else 0.0
    high = center + spread if wins < games else 1.0
    return Interval(low, share, high)


def elo_of_share(share: float) -> float:
    """Return by how many Elo points a player is stronger that wins this share; may be infinite.

    A. E. Elo, "The Rating of Chessplayers, Past and Present" (1978), with the logistic curve.
    """
    if share <= 0.0:
        return -math.inf
    if share >= 1.0:
        return math.inf
    return 400.0 * math.log10(share / (1.0 - share))


def share_of_elo(elo: float) -> float:
    """Return the share of games won by a player who is stronger by so many Elo points."""
    return 1.0 / (1.0 + math.pow(10.0, -elo / 400.0))


def elo(wins: float, games: int) -> Interval:
    """Return the Elo difference and its interval, the ends of `wilson` on the Elo scale."""
    share = wilson(wins, games)
    return Interval(*(elo_of_share(part) for part in (share.low, share.estimate, share.high)))


def describe_strength(wins: float, games: int) -> str:
    """Return the share of games won and the Elo difference, with their intervals, for people."""
    return f"share {wilson(wins, games):.1%}, Elo {elo(wins, games):+z.0f}"


@dataclass(frozen=True, slots=True)
class Sprt:
    """A sequential probability ratio test: is the first player elo1 stronger, or only elo0?

    A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16
    (1945), 117-186, the binomial case. With half points for draws it errs on the side of
    playing longer, for a draw varies less than a win and a loss.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    """Chance of accepting elo1 though elo0 is true."""
    beta: float = 0.05
    """Chance of accepting elo0 though elo1 is true."""

    def __post_init__(self) -> None:
        """Refuse bounds that ask nothing.

        Raises:
            ValueError: The first is not less than the second, or one is beyond all measure.
        """
        if not self.elo0 < self.elo1:
            raise ValueError("ELO0 must be less than ELO1")
        if not (self.elo0 > -2000 and self.elo1 < 2000):
            raise ValueError("ELO0 and ELO1 must lie between -2000 and 2000")

    @property
    def lower(self) -> float:
        """The log-likelihood ratio at which elo0 is accepted."""
        return math.log(self.beta / (1.0 - self.alpha))

    @property
    def upper(self) -> float:
        """The log-likelihood ratio at which elo1 is accepted."""
        return math.log((1.0 - self.beta) / self.alpha)

    def log_likelihood_ratio(self, wins: float, games: int) -> float:
        """Return how much likelier elo1 makes these results than elo0, as a logarithm."""
        share0, share1 = share_of_elo(self.elo0), share_of_elo(self.elo1)
        losses = games - wins
        return wins * math.log(share1 / share0) + losses * math.log((1 - share1) / (1 - share0))

    def verdict(self, wins: float, games: int) -> str | None:
        """Return "elo0" or "elo1" once one of them is accepted, None while it is open."""
        ratio = self.log_likelihood_ratio(wins, games)
        if ratio >= self.upper:
            return "elo1"
        return "elo0" if ratio <= self.lower else None

    def describe(self, wins: float, games: int, verdict: str | None) -> str:
        """Return what the test says, for people; `verdict` may be older than these results."""
        ratio = self.log_likelihood_ratio(wins, games)
        accepted = {"elo0": self.elo0, "elo1": self.elo1}
        says = "is open" if verdict is None else f"accepts {accepted[verdict]:+g}"
        return (
            f"SPRT of {self.elo0:+g} against {self.elo1:+g} Elo {says}:"
            f" log-likelihood ratio {ratio:+.2f}, bounds {self.lower:+.2f} and {self.upper:+.2f}"
        )

    def to_json(
        self, wins: float, games: int, verdict: str | None
    ) -> dict[str, float | str | None]:
        """Return the question and what the results say so far; `verdict` may be older."""
        return {
            "elo0": self.elo0,
            "elo1": self.elo1,
            "log_likelihood_ratio": self.log_likelihood_ratio(wins, games),
            "verdict": verdict,
        }


def result_json(
    wins: float, games: int, sprt: Sprt | None, verdict: str | None
) -> dict[str, object]:
    """Return the share of the games, the Elo and the test, the keys of all documents of matches."""
    return {
        "share": wilson(wins, games).to_json(),
        "elo": elo(wins, games).to_json(),
        "sprt": None if sprt is None else sprt.to_json(wins, games, verdict),
    }
