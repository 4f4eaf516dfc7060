"""Speak GTP, version 2, on stdin and stdout."""

import argparse
import logging
import signal
import time
from typing import NoReturn

from gtp_engine.commands.options import add_options, check_net, read_settings
from gtp_engine.commands.process import end_process, open_pipes
from gtp_engine.platforms import end_by
from gtp_engine.play.settings import Settings

logger = logging.getLogger(__name__)


_EXAMPLES = """examples:
  gtp-engine                              about five seconds a move
  gtp-engine --playouts 400               as strong everywhere, as fast as the machine
  gtp-engine --rules japanese --time 10
  gtp-engine --config my.toml             with lines like  playouts = 400  or  no-resign = true
"""

_TELL_EVERY = 5.0
"""Seconds after which people who wait are told how far it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_options(parser)
    parser.add_argument(
        "--precompile", action="store_true", help="compile the kernels, try the net, and leave"
    )
    # What Kigo and qGo, made for GNU Go, have on the command line until their user changes it.
    parser.add_argument("--mode", choices=["gtp"], help=argparse.SUPPRESS)
    parser.add_argument("--quiet", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> NoReturn:
    """Speak GTP until the client leaves, and end the process."""
    settings = read_settings(args)
    if args.precompile:
        check_net(settings.net)
        _precompile(settings)
    # Ctrl-C ends the process without a traceback, as SIGTERM does by itself.
    end_by(signal.SIGINT)
    _converse(settings)


def _precompile(settings: Settings) -> NoReturn:
    from gtp_engine.kernel_cache import ADVICE
    from gtp_engine.kernels import CACHE
    from gtp_engine.play.engine import Engine
    from gtp_engine.play.loading import EngineUnavailableError

    started = time.perf_counter()
    engine = Engine(settings)
    try:
        while not engine.wait_ready(_TELL_EVERY):
            logger.info(f"please wait: {engine.progress}")
        from gtp_engine.play.warmup import compile_search

        compile_search(engine.search.evaluator, *settings.size)
    except EngineUnavailableError:
        end_process(engine, 1)  # the engine has said why
    if CACHE.obstacle:
        logger.error(f"what was compiled cannot be kept: {CACHE.obstacle}; {ADVICE}")
        end_process(engine, 1)
    logger.info(f"ready after {time.perf_counter() - started:.1f} s; from now on it starts at once")
    end_process(engine)


def _converse(settings: Settings) -> NoReturn:
    from gtp_engine.frontends.gtp.server import Server, new_inbox
    from gtp_engine.frontends.journal import Journal

    requests, output = open_pipes()
    inbox = new_inbox(requests)
    inbox.start()
    journal = Journal(settings.log)
    from gtp_engine.play.engine import Engine

    engine = Engine(settings)
    Server(engine, inbox, output, journal).run()
    end_process(engine)
