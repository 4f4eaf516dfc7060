"""Messages that are collected instead of shown."""

import logging
import threading

from gtp_engine.messages import collected, counted

logger = logging.getLogger("gtp_engine.of_a_test")


def warn_in_another_thread(text: str) -> None:
    thread = threading.Thread(target=logger.warning, args=(text,))
    thread.start()
    thread.join()


def test_messages_of_other_threads_may_go_where_they_went() -> None:
    with collected() as outer:
        with collected(own_thread=True) as inner:
            logger.warning("mine")
            warn_in_another_thread("another's")
        logger.warning("later")
    assert (inner, outer) == (["mine"], ["another's", "later"])


def test_collections_may_end_in_any_order() -> None:
    with collected() as outer:
        first, second = collected(), collected()
        of_first, of_second = first.__enter__(), second.__enter__()
        logger.warning("one")
        first.__exit__(None, None, None)
        logger.warning("two")
        second.__exit__(None, None, None)
        logger.warning("three")
    assert (of_first, of_second, outer) == ([], ["one", "two"], ["three"])


def test_numbers_agree_with_what_they_count() -> None:
    assert counted(1, "game") == "1 game"
    assert counted(0, "game") == "0 games"
    assert counted(2000, "liberty", "liberties") == "2,000 liberties"
