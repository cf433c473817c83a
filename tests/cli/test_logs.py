"""`--log` filters and the look of log lines."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from cfnode.cli import logs

OFFICIAL = "info,grandpa=error,runtime::grandpa=off,aura=error,babe=error,txpool::api=error"


@pytest.fixture(autouse=True)
def quiet_loggers() -> Iterator[None]:
    yield
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.split(".")[0] == logs.ROOT and isinstance(logger, logging.Logger):
            logger.setLevel(logging.NOTSET)
            logger.handlers.clear()
            logger.propagate = True


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def set_up(*filters: str, form: str = "text") -> io.StringIO:
    logs.set_up(filters, colour=False, form=form)
    stream = io.StringIO()
    handler = logging.getLogger(logs.ROOT).handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(stream)
    return stream


def test_the_official_filter_silences_what_it_names_and_shows_the_rest() -> None:
    stream = set_up(OFFICIAL)
    logging.getLogger("cfnode.grandpa").warning("a vote was late")
    logging.getLogger("cfnode.grandpa").error("no key")
    logging.getLogger("cfnode.runtime.grandpa").critical("never")
    logging.getLogger("cfnode.txpool.api").warning("refused")
    logging.getLogger("cfnode.txpool").info("one ready")
    logging.getLogger("cfnode.sync").debug("too fine")
    assert [line.split(" ", 2)[2] for line in lines(stream)] == ["ERROR no key", "one ready"]


def test_a_plain_line_begins_with_the_time_and_names_no_level() -> None:
    stream = set_up()
    logging.getLogger("cfnode.informant").info("💤 Idle (%d peers)", 0)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d 💤 Idle \(0 peers\)", lines(stream)[0])


def test_json_lines_carry_level_target_and_message() -> None:
    stream = set_up("warn,txpool::api=trace", form="json")
    logging.getLogger("cfnode.txpool.api").info('said "no"')
    row = json.loads(lines(stream)[0])
    assert (row["level"], row["target"], row["message"]) == ("info", "txpool::api", 'said "no"')


def test_a_bare_target_shows_all_of_it() -> None:
    stream = set_up("txpool")
    logging.getLogger("cfnode.txpool").debug("fine")
    assert lines(stream)[0].endswith(" fine")


@pytest.mark.parametrize("text", ["info,grandpa=loud", "=x"])
def test_an_unknown_level_is_named(text: str) -> None:
    with pytest.raises(logs.LogFilterError, match="one of off, error, warn, info, debug, trace"):
        logs.parse_filters([text])
