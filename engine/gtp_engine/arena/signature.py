"""A fingerprint of the search: the same code gives the same one on every machine.

Fixed positions of several sizes are searched with the fake evaluator, one thread and one leaf at
a time, and the visits of the root's children are hashed. A change that is not meant to change the
search keeps the signature; one that is says the new one.
"""

import hashlib

import numpy as np

from gtp_engine.coords import PASS
from gtp_engine.evaluators.fake import FakeEvaluator
from gtp_engine.go.board import is_own_eye
from gtp_engine.go.position import Position
from gtp_engine.go.rules import Rules
from gtp_engine.search.search import Search
from gtp_engine.search.stopping import Limits

CASES = (
    # width, height, rules, random moves before the search
    (9, 9, "tromp-taylor", 0),
    (9, 9, "chinese", 30),
    (9, 9, "japanese", 70),
    (13, 13, "aga", 60),
    (7, 11, "new-zealand", 25),
    (19, 19, "chinese-ogs", 0),
    (19, 19, "tromp-taylor", 120),
    (19, 19, "japanese", 250),
)
PLAYOUTS = 800


def random_position(width: int, height: int, rules: str, moves: int, seed: int) -> Position:
    """Return a position after random legal moves that fill no own eye, the same every time."""
    position = Position(width, height, Rules.parse(rules))
    generator = np.random.Generator(np.random.PCG64(seed))
    for _ in range(moves):
        color = position.to_play
        points = [
            point
            for point in position.legal_moves()
            if point != PASS and not is_own_eye(position.board, point, color)
        ]
        point = points[int(generator.integers(len(points)))] if points else PASS
        position.play(color, point)
    return position


def signature() -> str:
    """Return the fingerprint, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for seed, (width, height, rules, moves) in enumerate(CASES):
        search = Search(FakeEvaluator(), seed=seed)
        search.set_position(random_position(width, height, rules, moves, seed))
        search.run(Limits(playouts=PLAYOUTS))
        visits = sorted((child.move, child.visits) for child in search.children())
        digest.update(repr(visits).encode())
    return digest.hexdigest()[:16]
