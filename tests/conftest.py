"""What every test can use: the vectors next to the project, the official spec, the tiers, the fork server."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.clock import patient_clock
from tests.interop.polkadot import Reader, running_reader
from tests.lengths import SEED, WHOLE, draw_seed
from tests.skips import reason_of, summary
from tests.support.forking import SWITCH, forking
from tests.support.remembered import remember

__all__ = ["patient_clock"]

pytest_plugins = (
    "tests.support.collecting",
    "tests.support.costs",
    "tests.support.scheduling",
    "tests.support.tiers",
)

ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(os.environ.get("CFNODE_TEST_PEERS", ROOT / ".cache" / "peers"))
"""Programs written by others, where `scripts/peers` puts them."""

GC_THRESHOLDS = (50_000, 20, 100)
"""Garbage collections of a test process are rare: what a test leaves is small."""

# A machine under load is no fault of the code: no example is timed. An ordinary run has the same examples
# each time, and fewer; `--all` looks for new ones.
settings.register_profile("cfnode", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("cfnode whole", deadline=None, max_examples=100)
settings.load_profile("cfnode")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="play long tests whole, turn every skip into a failure"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--all"):
        os.environ[WHOLE] = "1"
        draw_seed()
        settings.load_profile("cfnode whole")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    outcome = yield
    report = outcome.get_result()
    if report.skipped and call.excinfo is not None and isinstance(report.longrepr, tuple):
        report.longrepr = (*report.longrepr[:2], f"Skipped: {reason_of(call.excinfo.value)}")
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--all"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"--all: nothing may be skipped. {reason}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed of a whole run, the skipped tests, and what would let them run."""
    if terminalreporter.config.getoption("--all"):
        terminalreporter.write_line(f"{SEED}={os.environ[SEED]}")
    reports = terminalreporter.stats.get("skipped", [])
    lines = list(summary(report.longrepr[2].removeprefix("Skipped: ") for report in reports))
    if lines:
        terminalreporter.section(f"{len(reports)} tests skipped")
        terminalreporter.write_line("\n".join(lines))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collections: what is imported stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Set back the recursion limit, which Ethereum libraries raise; a node never has them.

    The collected tests are excluded from garbage collection.
    """
    sys.setrecursionlimit(1000)
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@pytest.fixture(scope="session", autouse=True)
def fork_server(cache: None) -> Iterator[None]:
    """Start cfnode's programs by forks."""
    with forking():
        yield


@pytest.fixture
def new_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each program of the test anew: for what a fork cannot show (tests/support/forking)."""
    monkeypatch.setenv(SWITCH, "0")


def shared(*parts: str) -> Path:
    """Return a file of the reference folder next to the project; skip the test where it is missing."""
    base = Path(os.environ.get("CFNODE_TEST_REFERENCE", ROOT.parent / "shared" / "reference"))
    path = base.joinpath(*parts)
    if not path.exists():
        pytest.skip(
            f"reference vectors are not here: {'/'.join(parts)} (CFNODE_TEST_REFERENCE names their folder)"
        )
    return path


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[None]:
    """Keep runtimes that tests compile apart from the user's; all processes of a run share them.

    The user's configuration file is not read.
    """
    base = tmp_path_factory.getbasetemp()
    run = base if worker_id == "master" else base.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFNODE_CACHE", str(run / "cache"))
        patch.setenv("CFNODE_CONFIG", os.devnull)
        yield


@pytest.fixture(autouse=True)
def hangups() -> Iterator[None]:
    """Set the action of SIGHUP back: a `run` in this process ignores it, and later processes inherit that."""
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Iterator[None]:
    """Let nodes of this process not compute what another one has computed."""
    with pytest.MonkeyPatch.context() as patch:
        remember(patch.setattr)
        yield


@pytest.fixture(scope="session")
def metadata_v15() -> bytes:
    """Return metadata V15 of runtime 2.2.3 (spec_version 20203), SCALE bytes beginning with `meta`."""
    return shared("vectors", "chainflip", "metadata-v15-20203.scale").read_bytes()


@pytest.fixture(scope="session")
def berghain_spec() -> Path:
    """Return the official raw chain spec of the main net, from CFNODE_TEST_BERGHAIN_SPEC."""
    path = os.environ.get("CFNODE_TEST_BERGHAIN_SPEC")
    if not path or not Path(path).exists():
        pytest.skip("the official chain spec is not here: set CFNODE_TEST_BERGHAIN_SPEC to its path")
    return Path(path)


def interpreter(library: str) -> Path:
    """Return the Python interpreter that has a library; skip the test without it."""
    path = PEERS / library / "bin" / "python"
    if not path.exists():
        pytest.skip(f"{library} is not here: scripts/peers installs it")
    return path


@pytest.fixture(scope="session")
def substrate_interface() -> Path:
    """Return the interpreter that has substrate-interface."""
    return interpreter("substrate-interface")


@pytest.fixture(scope="session")
def async_substrate_interface() -> Path:
    """Return the interpreter that has async-substrate-interface."""
    return interpreter("async-substrate-interface")


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Return the folder of the Node.js peers."""
    path = PEERS / "node" / "node_modules"
    if shutil.which("node") is None or not (path / "@polkadot" / "api").exists():
        pytest.skip("the Node.js peers are not here: scripts/peers installs them (needs node and npm)")
    return path


@pytest.fixture(scope="session")
def pyright() -> Path:
    """Return the program of pyright, which node runs."""
    path = PEERS / "node" / "node_modules" / "pyright" / "index.js"
    if shutil.which("node") is None or not path.exists():
        pytest.skip("pyright is not here: scripts/peers installs it (needs node and npm)")
    return path


@pytest.fixture(scope="session")
def polkadot(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reader | None]:
    """Yield @polkadot/api; without it, a test of its own is skipped."""
    try:
        modules: Path = request.getfixturevalue("node_modules")
    except pytest.skip.Exception:
        yield None
        return
    with running_reader(modules, tmp_path_factory.mktemp("polkadot")) as reader:
        yield reader
