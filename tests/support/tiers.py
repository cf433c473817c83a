"""The tiers of the tests, by cost: *unit* and *node* in each run, *world* with `--world` or `--all`.

- unit: no process besides the test's own;
- node: one node, or one other program at a time; a node's executors do not count;
- world: several programs at once, and programs by others: kills, storms, databases, browsers, networks, type
  checkers, the builder of the site, and test runs in a test; and any test that by itself needs more than a
  second of processor time.

A test of the world bears the mark `world`, most files as a whole (`pytestmark`); one that asks for a fixture
of WORLD_FIXTURES bears it by that. Three rules hold the line: a test that calls a function of WORLD_STARTERS
needs the mark (`scripts/test_rules.py`, part of `scripts/check`); a test that has a second program running
without it fails, and so does one that needs ten seconds of processor time (`Watch`). A run that names a
file, or a test in it, plays all that it names.
"""

from __future__ import annotations

import resource
import subprocess
import time
from collections import Counter
from collections.abc import Generator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.forking.popen import EXECUTOR, ForkingPopen, is_running
from tests.support.scheduling import SPREAD

WORLD = "world"
WORLD_FIXTURES = frozenset({"postgres", "evm", "pyright", "substrate_interface", "async_substrate_interface"})
"""Fixtures that are programs by others."""
WORLD_STARTERS = frozenset(
    {
        "tests.deploy.proxies.proxy_before",
        "tests.deploy.proxies.running_proxy",
        "tests.e2e.browser.running_browser",
        "tests.e2e.newcomer.Newcomer",
        "tests.e2e.shell.Shell",
        "tests.e2e.shell.started_by",
        "tests.e2e.wires.machines",
        "tests.interop.rust_network.running_network",
        "tests.ledger.postgres.running_postgres",
        "tests.sdk.anvil.evm_chain",
        "tests.support.interop.libp2p.peer_process",
        "tests.support.interop.programs.report_of",
        "tests.support.ledger.processes.following",
        "tests.support.serving.programs.running_programs",
        "tests.swap_service.load.serving",
        "tests.swap_service.load.storm",
    }
)
"""Functions of helpers that start programs by others, or more than one."""
LONGEST = (
    "tests/serving/test_port_matrix.py",
    "tests/test_test_runs.py",
    "tests/test_site.py",
    "tests/e2e/test_guide.py",
    "tests/ledger/test_faults.py",
    "tests/serving/test_each_port.py",
    "tests/deploy/test_container.py",
    "tests/ledger/test_leader.py",
    "tests/rpc/test_large_messages.py",
    "tests/ledger/test_interruptions.py",
    "tests/rpc/scenarios/test_failures.py",
    "tests/rpc/test_every_method.py",
    "tests/rpc/test_dev.py",
    "tests/rpc/v1/test_chain_head.py",
    "tests/rpc/substrate/test_author.py",
    "tests/sdk/test_swaps_on_a_chain.py",
    "tests/rpc/test_backend.py",
)
"""The files that take longest: they begin first, so that none ends last. The tests of the files that are
spread follow the first one of them."""
LEFT_OUT = "Left out: long tests, and those with several or other programs; scripts/test --world plays them"
MAX_COST: Final = 1_600.0
"""Most processor time of a test without the mark, in times of a known work that is measured behind it: ten
seconds on two slow cores. That is far above the second of the rule: the first test that needs something
computes it, and other programs slow a test down. `scripts/bench tests` lists those above a second."""
MIN_COST_S: Final = 0.5
"""Below it no machine is measured."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--world`."""
    parser.addoption("--world", action="store_true", help="also run the tests with several programs")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of world tests, and the watch over them."""
    config.addinivalue_line("markers", f"{WORLD}: has several programs, or programs by others")
    config.pluginmanager.register(Watch(), "programs of a test")


def plays_world(config: pytest.Config) -> bool:
    """Return whether a run plays the tests of the world."""
    return bool(config.getoption("--world") or config.getoption("--all"))


def named_files(arguments: Sequence[str]) -> set[Path]:
    """Return the files that a command line names, by themselves or by a test in them."""
    paths = (Path(argument.partition("::")[0]) for argument in arguments)
    return {path.resolve() for path in paths if path.is_file()}


def put_longest_first(items: list[pytest.Item]) -> None:
    """Sort the tests of a run: first the files that take longest.

    The tests of files that are spread are mixed evenly: those of one file wait for time limits, those of
    another keep a core busy.
    """
    files = [item.nodeid.partition("::")[0] for item in items]
    rank = {name: place for place, name in enumerate(LONGEST)}
    counts, passed = Counter(files), Counter[str]()
    keys = {}
    for item, file in zip(items, files, strict=True):
        passed[file] += 1
        place = 0.5 if file in SPREAD else float(rank.get(file, len(LONGEST)))
        keys[item] = place, passed[file] / counts[file] if file in SPREAD else 0.0
    items.sort(key=keys.__getitem__)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests by length, and mark those of world fixtures."""
    put_longest_first(items)
    for item in items:
        if WORLD_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(WORLD)
    if plays_world(config):
        return
    named = named_files(config.args)
    kept = [item for item in items if item.get_closest_marker(WORLD) is None or item.path in named]
    if len(kept) < len(items):
        played = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in played])
        items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that world tests were left out."""
    if not plays_world(terminalreporter.config):
        terminalreporter.write_line(LEFT_OUT)


class Watch:
    """Fails a test that has a second program running and does not bear the mark.

    What counts is what the test starts, and what its fixtures have started; neither executors nor commands of
    cfnode that end by themselves.
    """

    def __init__(self) -> None:
        self._started: list[tuple[str, subprocess.Popen[Any], object]] = []
        """Kind, process, and the fixture that has started it."""
        self._fixture: object = None
        self._most: list[str] = []
        """The kinds of the most programs at once that the present test had so far."""
        self._own: set[object] = set()
        ForkingPopen.on_start = self._on_start

    def _on_start(self, kind: str, process: subprocess.Popen[Any]) -> None:
        if kind == EXECUTOR or (kind.startswith("cfnode ") and not kind.endswith(" run")):
            return
        self._started = [started for started in self._started if is_running(started[1])]
        self._started.append((kind, process, self._fixture))
        running = [kind for kind, _, fixture in self._started if fixture is None or fixture in self._own]
        self._most = max(self._most, running, key=len)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Keep the fixture that is set up."""
        before, self._fixture = self._fixture, fixturedef
        try:
            return (yield)
        finally:
            self._fixture = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Keep the fixtures of the test's own."""
        fixtures = getattr(item, "_fixtureinfo", None)
        self._own = set(chain.from_iterable(fixtures.name2fixturedefs.values())) if fixtures else set()
        self._most = []
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Fail a test without the mark that starts several programs, or takes long."""
        before = _processor_s()
        result = yield
        if item.config.getoption("--all") or item.get_closest_marker(WORLD) is not None:
            return result  # with --all, tests of each tier start more programs and take longer
        if len(self._most) > 1:
            names = ", ".join(self._most)
            pytest.fail(f"several programs at once ({names}): it needs pytest.mark.world", pytrace=False)
        cost_s = _processor_s() - before
        if cost_s > MIN_COST_S and cost_s > MAX_COST * min(_work_s() for _ in range(3)):
            pytest.fail(f"{cost_s:.1f} s of processor time: it needs pytest.mark.world", pytrace=False)
        return result


def _processor_s() -> float:
    """Return the processor time of this process, and of those that it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _work_s() -> float:
    """Return the processor time of a known work."""
    began = time.thread_time()
    sum(number * number for number in range(100_000))
    return time.thread_time() - began
