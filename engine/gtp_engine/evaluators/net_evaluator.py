"""A net as an evaluator: encode, look up, evaluate in batches, decode, remember."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gtp_engine.coords import BLACK, WHITE
from gtp_engine.evaluators.batch_tuning import recall_batch, tune_in_background
from gtp_engine.evaluators.batcher import Batcher
from gtp_engine.evaluators.cache import EvaluationCache, clear_cache, look_up, new_cache, store
from gtp_engine.evaluators.decoding import (
    BY_RULES,
    decode_slots,
    knows_no_result,
    misshapen_output,
    output_arrays,
    output_layout,
    prior_by_action,
)
from gtp_engine.evaluators.encoders.inputs import (
    Begin,
    Encode,
    Features,
    Planes,
    Seen,
    find_begin,
    find_encoder,
)
from gtp_engine.evaluators.eval_batch import EvalBatch, average_slots, list_moves, new_eval_batch
from gtp_engine.evaluators.human_profile import DEFAULT_PROFILE, N_META, HumanProfile
from gtp_engine.evaluators.nets.composition import (
    ComposedNet,
    Net,
    SizedNet,
    check_game,
    judges_of,
    members_of,
    open_whole,
)
from gtp_engine.evaluators.nets.net_info import ENCODERS, NetFileError
from gtp_engine.evaluators.nets.net_limits import list_doubts
from gtp_engine.evaluators.nets.onnx_net import STREAMS_PER_GPU, OnnxNet, RawOutputs
from gtp_engine.evaluators.position_hash import write_position_hash
from gtp_engine.evaluators.runtimes.devices import gpu_names
from gtp_engine.evaluators.runtimes.sessions import AUTO, NAMES
from gtp_engine.go.history import History
from gtp_engine.go.ladders import Reader, new_reader
from gtp_engine.go.position import Position
from gtp_engine.go.rules import RuleFlags
from gtp_engine.go.symmetry import action_table, distinct_points, point_table, symmetries
from gtp_engine.kernels import hot_kernel
from gtp_engine.platforms import usable_cores

CACHE_MB = 128
"""Room for remembered evaluations."""
CACHE_SHARES = (2, 4, 8, 8)
"""Games analysed side by side may differ in the size of their boards: the first size has half of
the room, the next one a quarter. A fifth takes the place of the one used longest ago."""

CPU_BATCH = 4
"""Leaves that a worker evaluates at once on a processor, where the visits bear so many."""
LARGE_NET = 10 << 20
"""Bytes of a file from which a net gains nothing by that, and a stop would wait for longer."""
CPU_MAX_BATCH = 16
"""Largest batch that requests of several threads are merged into on a processor."""
GPU_BATCH = 32
"""Leaves that a worker hands a GPU at once while the best number has not been measured."""

RAW_OPTIMISM = 0.2
"""Share of an optimistic policy in a raw evaluation, as at the root of a search. Nets that take a
player's profile are asked without, for they are to say what that player does."""


@dataclass(frozen=True, slots=True)
class RawEvaluation:
    """What a net says about one position, for the player to move."""

    to_play: int
    symmetry: int | None
    """0..7, or None for the mean over all."""
    win: float
    loss: float
    no_result: float
    lead: float
    """Expected points ahead."""
    score_mean: float
    """Expected final score of self-play, points."""
    score_stdev: float
    """Its standard deviation."""
    var_time: float | None
    """How long the outcome stays open, in turns; None where the net does not say."""
    shortterm_winloss_error: float | None
    shortterm_score_error: float | None
    policy: npt.NDArray[np.float32]
    """[H, W] probabilities, NaN where a move is illegal."""
    policy_pass: float
    ownership: npt.NDArray[np.float32] | None
    """[H, W], -1..1."""


@lru_cache(maxsize=64)
def _meta_rows(profile: HumanProfile, area: int) -> Features:
    """Return [3, N_META] what a net is told about the players, by the player to move."""
    return np.array(
        [[0.0] * N_META, profile.inputs(BLACK, area), profile.inputs(WHITE, area)], np.float32
    )


def _find_encode(net: Net) -> Encode:
    """Return what fills a net's inputs: an encoder's kernel, or those of all its files."""
    if not isinstance(net, ComposedNet):
        return find_encoder(net.info.encoder)
    shares = [(find_encoder(share.encoder), share) for share in net.shares]

    def encode(seen: Seen, spatial: Planes, features: Features) -> None:
        for fill, share in shares:
            own = seen._replace(suicide_alive=share.suicide_alive)
            fill(own, spatial[share.planes], features[share.features])

    return encode


def _check_inputs(net: OnnxNet) -> None:
    """Make sure that everything the net wants to be told is known here; raise NetFileError."""
    info = net.info
    version, planes, n_globals = ENCODERS[info.encoder]
    if info.encoder_version != version:
        raise NetFileError(
            f"{net.path}: the net takes inputs of {info.encoder} version"
            f" {info.encoder_version}; this engine makes version {version}"
        )
    if (info.spatial_planes, info.global_features) != (planes, n_globals):
        raise NetFileError(
            f"{net.path}: the net takes {info.spatial_planes} planes and {info.global_features}"
            f" globals, but {info.encoder} makes {planes} and {n_globals}"
        )
    if info.meta_features not in (0, N_META):
        raise NetFileError(
            f"{net.path}: the net takes {info.meta_features} numbers about the players;"
            f" known are {N_META}"
        )


@hot_kernel
def _begin_slot(
    batch: EvalBatch,
    slot: int,
    history: History,
    ply: int,
    rules: RuleFlags,
    symmetry: int,
    optimism: float,
    symmetry_maps: npt.NDArray[np.int16],
    salt: int,
    nodes: int,
) -> None:
    """Write all of a slot but the inputs of the net, in Go; see `inputs.Begin`."""
    list_moves(batch, slot, history, ply, rules)
    numbers = batch.slots[slot]
    numbers["symmetry"] = symmetry
    numbers["optimism"] = optimism
    numbers["no_result_counts"] = knows_no_result(rules)
    write_position_hash(batch, slot, history, ply, rules, symmetry_maps, salt)


class NetEvaluator:
    """Evaluates positions with one net on one device, for any number of threads."""

    adds_to_net = False
    """Whether `evaluate` adds to what the net says, so that what is remembered is not all."""

    def __init__(self, net: Net, streams: int, max_batch: int, cache_mb: int = CACHE_MB) -> None:
        """Serve a net.

        Args:
            net: An open net whose encoders are known.
            max_batch: Largest batch that requests are merged into.
            cache_mb: Room for remembered evaluations; 0 keeps none.

        Raises:
            NetFileError: The net wants to be told things that are not known.
        """
        for member in members_of(net):
            _check_inputs(member)
        self.net = net
        self.human_profile = HumanProfile.parse(DEFAULT_PROFILE)
        """Whom a net with a human profile plays like; may be changed at any time."""
        self.batcher = Batcher(net.run, streams, max_batch)
        self._device = self._batched_for = net.device
        self.gpu_batch = GPU_BATCH
        """Leaves that a worker is to hand a GPU at once."""
        self._encode = _find_encode(net)
        begins = {find_begin(member.info.encoder) for member in members_of(net)}
        if len(begins) > 1:
            raise NetFileError(f"{net.path}: nets of different games cannot be joined")
        begin = begins.pop()
        self._has_known_results = begin is not None
        """Whether the game says itself how some positions end, which goes before the net."""
        self._begin: Begin = begin or _begin_slot
        self.threat_nodes = 0
        """How many positions such a game may look at for it, at each position."""
        self._n_globals = net.info.global_features
        self.takes_profile = net.info.meta_features > 0
        """Whether the net plays like whomever `human_profile` names."""
        self.cache_hits = 0
        self._layout = output_layout(net.info)
        self._owns = "ownership" in net.info.heads
        self.has_optimism = "policy_optimistic" in net.info.heads
        """Whether the net has an optimistic policy besides."""
        self._suicide_alive = int(net.info.pass_alive_under_suicide)
        self._cache_bytes = cache_mb << 20
        self._caches: dict[tuple[int, int], tuple[int, EvaluationCache]] = {}
        """By board, with its share; the one used last stands last."""
        self._guard = threading.Lock()
        self._own = threading.local()

    @property
    def name(self) -> str:
        """The net's name and device."""
        return f"{self.net.info.name} on {self.net.device}"

    @property
    def has_ownership(self) -> bool:
        """Whether the net has an ownership head."""
        return self._owns

    def describe(self) -> str:
        """Return what is used, in one line."""
        info = self.net.info
        names = {"cuda": "CUDA", "gpu": "an Intel GPU", "cpu": "the CPU"}
        device = names[self.net.device] + NAMES[self.net.runtime]
        small = f" ({self.net.small_boards})" if isinstance(self.net, SizedNet) else ""
        precision = info.precision.split(",")[0]  # what follows is kept in fp32
        return f"net {info.name}{small}, {precision}, on {device}"

    def doubts(self, position: Position) -> list[str]:
        """Return what about a game the net was not made for, a sentence each."""
        board = position.width, position.height
        return [
            doubt
            for net in judges_of(self.net, *board)
            for doubt in list_doubts(net.info, position.rules, *board)
        ]

    def suggest(self, threads: int | None, batch: int | None) -> tuple[int, int]:
        """Return the workers of one search and the leaves of each; given numbers stay."""
        if self.net.device == "cuda":
            return threads or self.batcher.streams, batch or self.gpu_batch
        bears_more = self.net.file_bytes < LARGE_NET
        return threads or usable_cores(), batch or (CPU_BATCH if bears_more else 1)

    def has_moved(self) -> bool:
        """Whether the net runs elsewhere than when this was asked last: a GPU has failed.

        Fewer leaves at once suit the processor, so a search is to be made anew.
        """
        if self.net.device == self._device:
            return False
        self._device = self.net.device
        return True

    def _look_at_device(self) -> None:
        """Where a GPU has failed, have runs under way and batches merged as suit a processor."""
        if self.net.device != self._batched_for:
            self._batched_for = self.net.device
            self.batcher.max_batch = CPU_MAX_BATCH
            self.batcher.use_streams(usable_cores())

    def tune_batch(self, width: int, height: int) -> threading.Thread | None:
        """Measure in the background how many leaves to hand a GPU, unless that is known."""
        if recall_batch(self.net) is not None:
            return None

        def use(batch: int) -> None:
            self.gpu_batch = batch

        return tune_in_background(self.net, self.batcher, width, height, use)

    def accepts(self, width: int, height: int) -> bool:
        """Say whether the net plays on boards of a size."""
        return all(net.info.accepts(width, height) for net in judges_of(self.net, width, height))

    def new_batch(self, slots: int, width: int, height: int) -> EvalBatch:
        """Return a batch for boards of this size.

        Raises:
            NetFileError: The net does not take this size.
        """
        info = self.net.info
        if not self.accepts(width, height):
            raise NetFileError(f"the net {info.name} does not play on {width}x{height}")
        self.net.prepare(slots, width, height)
        features = info.global_features + info.meta_features
        return new_eval_batch(slots, width, height, info.spatial_planes, features, self._owns)

    def encode(
        self,
        batch: EvalBatch,
        slot: int,
        history: History,
        ply: int,
        rules: RuleFlags,
        symmetry: int,
        optimism: float,
    ) -> None:
        """Fill a slot's inputs and legal moves from the position at a ply; see `Evaluator`."""
        height, width = batch.spatial.shape[2:]
        symmetry_maps = point_table(width, height)
        planes, numbers = batch.spatial[slot], batch.features[slot]
        salt = 0
        if self.takes_profile:
            profile = self.human_profile  # once: another thread may change it
            salt = profile.digest
            rows = _meta_rows(profile, width * height)
            numbers[self._n_globals :] = rows[history.turns[ply]["to_play"]]
            numbers = numbers[: self._n_globals]
        if not self.has_optimism:
            optimism = 0.0  # so that a root and a leaf, asked for other shares, are the same
        besides = distinct_points(width, height), salt, self.threat_nodes
        self._begin(batch, slot, history, ply, rules, symmetry, optimism, *besides)
        reader, shown = self._reader(), symmetry_maps[symmetry]
        seen = Seen(history, ply, rules, reader, shown, self._suicide_alive)
        self._encode(seen, planes, numbers)

    def evaluate(self, batch: EvalBatch, n: int, *, use_cache: bool = True) -> None:
        """Fill in the results of the first n slots, from the cache where it has them.

        Raises:
            NetFileError: The net failed.
        """
        missing = self._look_up(batch, 0, n) if use_cache else np.arange(n)
        if len(missing):
            rows = slice(n) if len(missing) == n else missing
            raw = self.batcher.evaluate(batch.spatial[rows], batch.features[rows])
            self._finish(batch, missing, raw, keep=use_cache)
        self._put_known_results(batch, 0, n)

    def recall(self, batch: EvalBatch, first: int, n: int) -> Sequence[int]:
        """Fill in the results of n slots where they are remembered; return the other slots."""
        if self.adds_to_net:
            return range(first, first + n)
        missing: list[int] = self._look_up(batch, first, n).tolist()
        self._put_known_results(batch, first, n)
        return missing

    def _look_up(self, batch: EvalBatch, first: int, n: int) -> npt.NDArray[np.int64]:
        """Fill in what the net is remembered to have said of n slots; return the other slots."""
        if not self._cache_bytes:
            return np.arange(first, first + n)
        height, width = batch.spatial.shape[2:]
        cache = self._cache(width, height)
        tables = point_table(width, height), action_table(width, height)
        missing = np.empty(n, np.int64)
        with self._guard:
            n_missing = int(look_up(cache, batch, first, n, *tables, missing))
            self.cache_hits += n - n_missing
        return missing[:n_missing]

    def _put_known_results(self, batch: EvalBatch, first: int, n: int) -> None:
        """Put what the game itself knows of some slots in the place of what the net says."""
        if self._has_known_results:
            known, value = batch.slots["known_result"][first:][:n], batch.value[first:][:n]
            value[:] = np.where(known != 0, known, value)

    def _finish(
        self, batch: EvalBatch, slots: npt.NDArray[np.int64], raw: RawOutputs, *, keep: bool = False
    ) -> None:
        """Fill in the results of some slots, and keep them in the cache if that is wanted."""
        self._look_at_device()
        height, width = batch.spatial.shape[2:]
        outputs = output_arrays(raw)
        wrong = misshapen_output(outputs, self._layout, width * height)
        if batch.ownership.size and raw.ownership is None:
            wrong = "ownership"  # another file than the one that promised it may run by now
        if wrong is not None:
            raise NetFileError(f"{self.net.path}: its output {wrong!r} has an unexpected shape")
        points, actions = point_table(width, height), action_table(width, height)
        if not decode_slots(outputs, self._layout, batch, slots, points, actions):
            raise NetFileError(f"{self.net.path}: the net's outputs are not numbers")
        if keep and self._cache_bytes:
            cache = self._cache(width, height)
            with self._guard:
                store(cache, batch, slots, points, actions)

    def raw_evaluation(
        self,
        position: Position,
        symmetry: int | None = None,
        optimism: float | None = None,
        *,
        remember: bool = False,
    ) -> RawEvaluation:
        """Return what the net says about a position.

        Args:
            symmetry: 0..7; the mean over all of them when None.
            optimism: Share of an optimistic policy; when None, RAW_OPTIMISM, or 0 for a profile.
            remember: Whether searches find it in the cache, under this optimism; for one symmetry.
        """
        width, height = position.width, position.height
        shown = list(symmetries(width, height)) if symmetry is None else [symmetry]
        if optimism is None:
            optimism = 0.0 if self.takes_profile else RAW_OPTIMISM
        # The net's own: nobody asks here for rollouts beside it.
        batch = NetEvaluator.new_batch(self, len(shown), width, height)
        rules = position.rules.flags
        for slot, one in enumerate(shown):
            leaf = batch, slot, position.history, position.ply, rules, one, optimism
            NetEvaluator.encode(self, *leaf)
        raw = self.batcher.evaluate(batch.spatial, batch.features)
        self._finish(batch, np.arange(len(shown)), raw, keep=remember)
        average_slots(batch, len(shown))
        policy = prior_by_action(batch, 0, point_table(width, height)[0], position.area)
        value, none = float(batch.value[0]), float(batch.no_result[0])
        lead = float(batch.lead[0])
        counts = 1.0 - none if self._layout.no_result == BY_RULES else 1.0
        mean = self._score_column(raw, "score_mean")
        return RawEvaluation(
            to_play=position.to_play,
            symmetry=symmetry,
            win=0.5 * (1.0 - none + value),
            loss=0.5 * (1.0 - none - value),
            no_result=none,
            lead=lead,
            score_mean=lead if mean is None else mean * counts,
            score_stdev=float(batch.stdev[0]),
            var_time=self._score_column(raw, "var_time"),
            shortterm_winloss_error=self._score_column(raw, "shortterm_winloss_error"),
            shortterm_score_error=self._score_column(raw, "shortterm_score_error"),
            policy=policy[:-1].reshape(height, width),
            policy_pass=float(policy[-1]),
            ownership=(batch.ownership[0].reshape(height, width) if self._owns else None),
        )

    def _score_column(self, raw: RawOutputs, name: str) -> float | None:
        """Return the mean of a column of the score output; None where there is none."""
        columns = self.net.info.score_columns
        if raw.score is None or name not in columns:
            return None
        return float(raw.score[:, columns.index(name)].mean())

    def clear_cache(self) -> None:
        """Forget every evaluation."""
        with self._guard:
            for _, cache in self._caches.values():
                clear_cache(cache)

    def _cache(self, width: int, height: int) -> EvaluationCache:
        with self._guard:
            found = self._caches.pop((width, height), None)
            if found is None:
                if len(self._caches) == len(CACHE_SHARES):
                    share, _ = self._caches.pop(next(iter(self._caches)))
                else:
                    share = CACHE_SHARES[len(self._caches)]
                found = share, new_cache(width * height, self._owns, self._cache_bytes // share)
            self._caches[width, height] = found
            return found[1]

    def _reader(self) -> Reader:
        """Return the calling thread's memory for reading ladders."""
        try:
            reader: Reader = self._own.reader
        except AttributeError:
            reader = self._own.reader = new_reader()
        return reader


def open_net(
    wanted: str | None = None,
    device: str = "auto",
    runtime: str = AUTO,
    *,
    threads: int | None = None,
    max_batch: int | None = None,
    cache_mb: int = CACHE_MB,
    game: str | None = None,
    make: Callable[[Net, int, int, int], NetEvaluator] = NetEvaluator,
) -> NetEvaluator:
    """Open a net given by file or name, on a device, in the precision that suits it there.

    Args:
        wanted: A file, a name that `gtp-engine net list` knows, or several of these joined by `+`
            (see `net_files.find_parts`); the default net when None.
        device: One of DEVICES.
        runtime: What runs it on a processor, one of `devices.RUNTIMES`.
        threads: Runs under way at once on a CPU; as many as there are cores when None.
        max_batch: Largest batch that requests of several threads are merged into.
        cache_mb: Room for remembered evaluations; 0 keeps none.
        game: What it is to play, one of `games.GAMES`; None: whatever it was made for.

    Raises:
        NetFileError: There is no such net, it cannot be used, or it was made for another game.
    """
    net = open_whole(wanted, device, runtime, threads)
    if game is not None:
        check_game(net, game)
    return serve(net, threads=threads, max_batch=max_batch, cache_mb=cache_mb, make=make)


def serve(
    net: Net,
    *,
    threads: int | None = None,
    max_batch: int | None = None,
    cache_mb: int = CACHE_MB,
    make: Callable[[Net, int, int, int], NetEvaluator] = NetEvaluator,
) -> NetEvaluator:
    """Return an evaluator for an open net, with as many runs at once as suit its device.

    It is made of the net, the runs, the largest batch and the megabytes to remember evaluations.

    Raises:
        NetFileError: The net wants to be told things that are not known.
    """
    if net.device == "cuda":
        streams = STREAMS_PER_GPU * max(1, len(gpu_names()))
        evaluator = make(net, streams, max_batch or 256, cache_mb)
        evaluator.gpu_batch = recall_batch(net) or GPU_BATCH
        return evaluator
    streams = threads or usable_cores()
    return make(net, streams, max_batch or CPU_MAX_BATCH, cache_mb)
