"""The rules of the tests that `scripts/check` holds."""

from __future__ import annotations

import pytest

from scripts.test_rules import faults, main


@pytest.mark.parametrize(
    "line",
    [
        "from tests.rpc.broker.test_broker import ETH",
        "from tests.rpc import clients, test_broker",
        "import tests.rpc.broker.test_broker",
        "from .test_broker import ETH",
        "from . import test_broker",
        "def late():\n    from tests.rpc.broker.test_broker import ETH",
    ],
)
def test_an_import_from_a_module_of_tests_is_refused(line: str) -> None:
    """Refuse an import from a test module in each form."""
    (fault,) = faults("tests/rpc/lp/test_lp.py", f"import os\n{line}\n")
    assert "test_broker" in fault
    assert "belongs in tests/support/" in fault


def test_what_is_no_test_may_be_imported() -> None:
    """Allow an import from a module that is not a test."""
    text = "import pytest\nfrom tests.rpc.clients import Http\nfrom tests.support.rpc.assets import ETH\n"
    assert list(faults("tests/rpc/lp/test_lp.py", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "trio.sleep(1)",
        "from time import sleep\nsleep(1)",
        "while True:\n    time.sleep(1)",
        "async def test():\n    await anyio.sleep(0.1)",
        "call(lambda: time.sleep(1))",
    ],
)
def test_a_sleep_that_waits_for_nothing_is_refused(text: str) -> None:
    """Refuse a sleep that waits for no condition, in tests only."""
    (fault,) = faults("tests/rpc/lp/test_lp.py", text)
    assert "wait for a condition" in fault
    assert list(faults("scripts/bench.py", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "while not met():\n    time.sleep(1)",
        "while not met():\n    with nothing:\n        trio.sleep(1)",
        "time.sleep(1)  # the moment itself is what is tested",
        "async def test(autojump_clock):\n    await trio.sleep(100)",
        "trio.sleep_forever()",
    ],
)
def test_a_loop_a_comment_or_a_clock_allows_a_sleep(text: str) -> None:
    """Allow a sleep in a loop with a condition, with a comment, or with a clock that jumps."""
    assert list(faults("tests/rpc/lp/test_lp.py", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "async def test():\n    with trio.fail_after(20):\n        await it()",
        "async def test():\n    with move() as here, anyio.move_on_after(0.3) as waited:\n        await it()",
        "async def one(autojump_clock): ...\nasync def two():\n    with trio.fail_after(1.5):\n        it()",
    ],
)
def test_a_short_limit_on_real_time_is_refused(text: str) -> None:
    """Refuse a limit that a slow machine could reach, in tests only."""
    (fault,) = faults("tests/rpc/lp/test_lp.py", text)
    assert "take LIMIT_S" in fault
    assert list(faults("scripts/bench.py", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "with trio.fail_after(LIMIT_S):\n    it()",
        "with trio.fail_after(60):\n    it()",
        "with trio.move_on_after(0):\n    it()",
        "with trio.move_on_after(0.3):  # the cancellation is what is tested\n    it()",
        "async def test(patient_clock):\n    with trio.fail_after(2):\n        await it()",
    ],
)
def test_a_long_limit_a_comment_or_a_clock_is_allowed(text: str) -> None:
    """Allow a limit that only a hang reaches, one with a comment, and any with a clock that jumps."""
    assert list(faults("tests/rpc/lp/test_lp.py", text)) == []


@pytest.mark.world  # scripts/check runs it too
def test_no_file_of_the_project_breaks_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """Find no broken rule in the project's files."""
    assert main([]) == 0, capsys.readouterr().out


WORLD = "from tests.ledger.postgres import BOTH, running_postgres\n"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("def test_it():\n    with running_postgres():\n        pass\n", True),
        ("@pytest.fixture\ndef server():\n    yield running_postgres()\n", True),
        ("@pytest.mark.world\ndef test_it():\n    with running_postgres():\n        pass\n", False),
        ("pytestmark = pytest.mark.world\n\ndef test_it():\n    running_postgres()\n", False),
        ("@pytest.fixture(params=BOTH)\ndef database():\n    yield running_postgres()\n", False),
        ("def test_it(running):\n    running.running_postgres()\n", False),
    ],
)
def test_who_starts_programs_of_the_world_bears_its_mark(text: str, refused: bool) -> None:
    """Demand the mark of the world from tests and fixtures that start its programs."""
    broken_rules = list(faults("tests/ledger/test_it.py", WORLD + text))
    assert [": it needs pytest.mark.world" in fault for fault in broken_rules] == [True] * refused
    assert list(faults("tests/ledger/helpers.py", WORLD + text)) == []
