"""The conversation's loop: requests are carried out in the order in which they came."""

import logging
from typing import TYPE_CHECKING

from gtp_engine.evaluators.nets.net_info import NetFileError
from gtp_engine.frontends.gtp import (
    cgos,
    core,
    gnugo,
    gogui,
    gomill,
    kata,
    kgs,
    leela,
    records,
    ruler,
    tactics,
    time_control,
)
from gtp_engine.frontends.gtp.protocol import (
    Arguments,
    GtpError,
    format_reply,
    is_interrupt,
    parse_request,
)
from gtp_engine.frontends.gtp.session import Registry, Session
from gtp_engine.frontends.journal import Journal
from gtp_engine.frontends.pipes import Inbox, Line, Output
from gtp_engine.games import FIVE
from gtp_engine.go.rules import InvalidRulesError
from gtp_engine.messages import describe_failure
from gtp_engine.play.clock.systems import ClockError
from gtp_engine.play.loading import EngineUnavailableError

if TYPE_CHECKING:
    from gtp_engine.play.engine import Engine

logger = logging.getLogger(__name__)

_DIALECTS = (
    *(core, time_control, records, tactics, kata, leela),
    *(gnugo, gogui, kgs, cgos, gomill),
)

COMMANDS = Registry(*(module.commands for module in _DIALECTS))
"""Every command of Go, of all dialects."""

_OF_FIVE = Registry(COMMANDS, ruler.commands)
for _name in ruler.OF_GO_ALONE:
    del _OF_FIVE[_name]

_LOAD_AFTER = 0.1
"""Seconds of silence after which the engine loads although nothing asked for it.

Loading takes the interpreter's attention, so the first questions are answered before it begins.
"""


def new_inbox(descriptor: int) -> Inbox:
    """Return what will read GTP from a file."""
    return Inbox(descriptor, parse_request, "quit", is_interrupt)


class Server:
    """Talks to one client until it leaves."""

    def __init__(self, engine: "Engine", inbox: Inbox, output: Output, journal: Journal) -> None:
        self._inbox = inbox
        self._output = output
        self._journal = journal
        # Who does not listen gets no more answers: a search would go on for nobody.
        output.inbox = inbox
        commands = _OF_FIVE if engine.settings.game == FIVE else COMMANDS
        self._session = Session(engine, commands, inbox, output)

    def run(self) -> None:
        """Answer requests until `quit`, the end of input or of the client."""
        patience: float | None = _LOAD_AFTER
        while not (self._session.is_over or self._output.is_closed):
            try:
                self._answer(self._inbox.next(patience))
            except EOFError:
                return
            except TimeoutError:
                self._session.engine.load()
                patience = None

    def _answer(self, line: Line) -> None:
        request = line.request
        self._journal.note(">", f"{request.id} {request.name} {request.rest}".strip())
        self._session.begin(line)
        try:
            handler = self._session.commands.get(request.name)
            if (handler is None or request.name == "help") and self._inbox.is_typed:
                logger.warning("to play in this terminal, quit and type: gtp-engine play")
            if handler is None:
                raise GtpError("unknown command")
            text, success = handler(self._session, Arguments(request.rest)), True
        except GtpError as error:
            text, success = str(error), False
        except (ClockError, InvalidRulesError) as error:
            text, success = f"syntax error: {error}", False
        except Exception as error:
            text = describe_failure(error, EngineUnavailableError, NetFileError).replace("#", "")
            success = False
        self._send(text, success)

    def _send(self, text: str, success: bool) -> None:
        reply = self._session.reply
        if not reply.has_begun:
            self._output.write(format_reply(success, reply.id, text))
        elif success:
            reply.finish(text)
        else:  # too late for an error: the client has already read a success
            logger.error(text)
            reply.finish("")
        self._journal.note("<" if success else "?", text)
