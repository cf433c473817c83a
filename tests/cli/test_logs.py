"""`--log` filters and the look of log lines."""

from __future__ import annotations

import io
import json
import logging
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli import logs
from cfnode.core.log_directives import LEVELS
from tests.process import command, environment, running_node, starting_node, until

OFFICIAL = "info,grandpa=error,runtime::grandpa=off,aura=error,babe=error,txpool::api=error"


@pytest.fixture(autouse=True)
def quiet_loggers() -> Iterator[None]:
    """Restore the hooks and loggers that a log sets up, after each test."""
    hooks = sys.excepthook, sys.unraisablehook, logging.lastResort
    yield
    logging.captureWarnings(False)
    logging.getLogger("py.warnings").handlers.clear()
    sys.excepthook, sys.unraisablehook, logging.lastResort = hooks
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.split(".")[0] == logs.ROOT and isinstance(logger, logging.Logger):
            logger.setLevel(logging.NOTSET)
            logger.handlers.clear()
            logger.propagate = True


def lines(stream: io.StringIO) -> list[str]:
    """Return the lines of a log."""
    return stream.getvalue().splitlines()


def set_up(*filters: str, form: str = "text") -> io.StringIO:
    """Set up the log by filters, and return the stream that it writes to."""
    logs.set_up(filters, colour=False, form=form)
    stream = io.StringIO()
    handler = logging.getLogger(logs.ROOT).handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(stream)
    return stream


def test_the_official_filter_silences_what_it_names_and_shows_the_rest() -> None:
    """Silence the targets of the official filter, and print levels of the rest from info on."""
    stream = set_up(OFFICIAL)
    logging.getLogger("cfnode.grandpa").warning("a vote was late")
    logging.getLogger("cfnode.grandpa").error("no key")
    logging.getLogger("cfnode.runtime.grandpa").critical("never")
    logging.getLogger("cfnode.txpool.api").warning("refused")
    logging.getLogger("cfnode.txpool").info("one ready")
    logging.getLogger("cfnode.sync").debug("too fine")
    assert [line.split(" ", 2)[2] for line in lines(stream)] == ["ERROR no key", "one ready"]


def test_a_plain_line_begins_with_the_time_and_names_no_level() -> None:
    """Print time and message of a line at level info, without its level."""
    stream = set_up()
    logging.getLogger("cfnode.informant").info("💤 Idle (%d peers)", 0)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d 💤 Idle \(0 peers\)", lines(stream)[0])


def test_json_lines_carry_level_target_and_message() -> None:
    """Print level, target and message as members of one JSON object."""
    stream = set_up("warn,txpool::api=trace", form="json")
    logging.getLogger("cfnode.txpool.api").info('said "no"')
    row = json.loads(lines(stream)[0])
    assert (row["level"], row["target"], row["message"]) == ("info", "txpool::api", 'said "no"')


def test_a_bare_target_shows_all_of_it() -> None:
    """Print all levels of a target that is named without one."""
    stream = set_up("txpool")
    logging.getLogger("cfnode.txpool").debug("fine")
    assert lines(stream)[0].endswith(" fine")


@pytest.mark.parametrize("text", ["info,grandpa=loud", "=x"])
def test_an_unknown_level_is_named(text: str) -> None:
    """Refuse an unknown level or an empty target, and list the levels."""
    with pytest.raises(logs.LogFilterError, match="one of off, error, warn, info, debug, trace"):
        logs.parse_filters([text])


def test_levels_in_capitals_and_as_digits_count_instead_of_logging_everything() -> None:
    """Read levels in capitals and as digits; without that, a filter of "ERROR" would log all."""
    stream = set_up("ERROR,txpool=3")
    logging.getLogger("cfnode.sync").warning("late")
    logging.getLogger("cfnode.txpool").info("one ready")
    logging.getLogger("cfnode.txpool").debug("too fine")
    assert [line.split(" ", 2)[2] for line in lines(stream)] == ["one ready"]


def test_rust_log_is_read_first_and_the_flag_over_it() -> None:
    """Let --log override RUST_LOG for the same target, and name RUST_LOG in its own error."""
    assert logs.parse_filters(["sync=warn"], "debug,sync=TRACE") == {
        "": logging.DEBUG,
        "sync": logging.WARNING,
    }
    with pytest.raises(logs.LogFilterError, match="RUST_LOG: 'sync=loud'"):
        logs.parse_filters([], "sync=loud")


def test_a_node_reads_rust_log(tmp_path: Path) -> None:
    """Refuse to start a node with a malformed RUST_LOG."""
    done = subprocess.run(
        command("run", "--dev"),
        env=environment(tmp_path) | {"RUST_LOG": "runtime=loud"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "RUST_LOG: 'runtime=loud'" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("level", "name"), [(5, "trace"), (10, "debug"), (20, "info"), (30, "warn"), (40, "error"), (50, "error")]
)
def test_json_names_levels_as_the_filter_does(level: int, name: str) -> None:
    """Print levels of Python's logging by the names that the filter takes."""
    stream = set_up("trace", form="json")
    logging.getLogger("cfnode.txpool").log(level, "x")
    assert json.loads(lines(stream)[0])["level"] == name
    assert name in LEVELS


def test_a_traceback_is_one_field_of_one_line() -> None:
    """Put a traceback into one member of its line, whatever lines it and the message have."""
    stream = set_up(form="json")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("cfnode.sync").exception("block failed\nagain")
    (line,) = lines(stream)
    row = json.loads(line)
    assert row.keys() == {"time", "level", "target", "message", "exception"}
    assert (row["level"], row["target"], row["message"]) == ("error", "sync", "block failed\nagain")
    assert row["exception"].startswith("Traceback (most recent call last):\n")
    assert row["exception"].endswith("ValueError: two\nlines")


PROGRAM = """
import logging, warnings
from cfnode.cli import logs
from cfnode.core.log_directives import LEVELS
logs.set_up(form="json")
logging.getLogger("some.library").warning("slow")
logging.getLogger("some.library").info("fine")
warnings.warn("old name")
class Broken:
    def __del__(self): raise OSError("late")
Broken()
raise KeyError("end")
"""


def parsed(text: str) -> list[dict[str, Any]]:
    """Return each line of a log; raises ValueError for one that is no JSON."""
    return [json.loads(line) for line in text.splitlines()]


def test_lines_of_libraries_and_of_python_are_json_as_well(tmp_path: Path) -> None:
    """Print warnings, logs of libraries and uncaught errors as JSON too."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    rows = parsed(done.stderr)
    assert [(row["level"], row["target"]) for row in rows] == [
        ("warn", "some::library"),
        ("warn", "py::warnings"),
        ("error", "service"),
        ("error", "service"),
    ]
    assert rows[0]["message"] == "slow" and "old name" in rows[1]["message"]
    assert rows[2]["exception"].endswith("OSError: late")
    assert rows[3]["exception"].endswith("KeyError: 'end'")
    assert done.returncode == 1


def test_a_running_node_logs_json_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    """Print valid JSON from the first line to the last, the ready notice of many lines included."""
    flags = ("--dev", "--log-format=json", "--log=debug", "--dev-block-time=100")
    with running_node(tmp_path, *flags) as node:
        until(lambda: "The development chain is ready" in node.log)
        assert node.stop() == 0
        rows = parsed(node.log)
    assert all(row.keys() >= {"time", "level", "target", "message"} for row in rows)
    assert {row["level"] for row in rows} <= logs.LEVELS.keys()
    assert rows[-1]["time"] >= rows[0]["time"] > 1.7e9
    assert any("The development chain is ready\n" in row["message"] for row in rows)


@pytest.mark.parametrize("level", ["info", "off"])
def test_a_node_that_cannot_start_has_its_reason_in_json(tmp_path: Path, level: str) -> None:
    """Print the reason of a failed start as JSON, even with the log switched off."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        flags = ("--dev", "--log-format=json", f"--log={level}", f"--rpc-port={port}")
        with starting_node(tmp_path, *flags) as node:
            assert node.process.wait(60) == 5
            rows = parsed(node.log)
    assert (rows[-1]["level"], rows[-1]["target"]) == ("error", "service")
    assert str(port) in rows[-1]["message"]


def test_the_format_may_come_from_the_file(tmp_path: Path) -> None:
    """Take the format from the configuration file in time for the first line."""
    file = tmp_path / "c.toml"
    file.write_text('[run]\nlog-format = "json"\nchain = "/no/such/spec"\n')
    done = subprocess.run(
        command("run", "--config", str(file)), env=environment(tmp_path), capture_output=True, text=True
    )
    rows = parsed(done.stderr)
    assert done.returncode == 3
    assert rows[0]["message"] == f"Configuration file: {file}"
    assert "/no/such/spec" in rows[-1]["message"]
