"""Pytest fixtures that give tests a development chain.

    def test_a_swap(cfnode_dev):
        channel = cfnode_dev.broker.open_channel("Btc", "Eth", ADDRESS, refund_address=REFUND)
        cfnode_dev.deposit(channel, amount=10_000_000)
        assert cfnode_dev.advance_to("Swapping", "SwapExecuted")["fields"]["output_amount"] > 0

One node serves all tests of a session (of a worker, with pytest-xdist). Each test starts with the chain after
the broker's registration: the chain is reverted after the test. pytest loads this module in every session, so
it imports nothing but pytest until a test uses a fixture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cfnode.testing import DevChain, DevNode

__all__ = ["cfnode_dev", "cfnode_dev_flags", "cfnode_dev_node", "cfnode_dev_session"]


@pytest.fixture(scope="session")
def cfnode_dev_flags() -> Sequence[str]:
    """Return additional flags of `cfnode run` for the tests' node; override it in a conftest.py."""
    return ()


@pytest.fixture(scope="session")
def cfnode_dev_node(
    cfnode_dev_flags: Sequence[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevNode]:
    """Run one node for all tests; yield it with its `url`, `pid` and `log`."""
    from cfnode.testing import NodeDidNotStart, running_node

    with ExitStack() as stack:
        try:
            node = stack.enter_context(running_node(tmp_path_factory.mktemp("cfnode"), *cfnode_dev_flags))
        except NodeDidNotStart as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        yield node


@pytest.fixture(scope="session")
def cfnode_dev_session(cfnode_dev_node: DevNode) -> Iterator[DevChain]:
    """Yield the chain of all tests, with its first block and a registered broker; changes to it persist."""
    from cfnode.testing import DevChain, dev_calls

    with DevChain(cfnode_dev_node.url) as chain:
        chain.do(dev_calls.first_block())
        chain.broker.register()
        chain.finalize()
        yield chain


@pytest.fixture
def cfnode_dev(cfnode_dev_session: DevChain) -> Iterator[DevChain]:
    """Yield a development chain for one test, in the state of the session's start."""
    from cfnode.testing import awaiting

    snapshot = cfnode_dev_session.snapshot()
    cfnode_dev_session.do(awaiting.begin(cfnode_dev_session.cursor))
    yield cfnode_dev_session
    cfnode_dev_session.revert(snapshot)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Leave cfnode's frames out of the traceback of a failed test that uses a fixture of this module."""
    is_ours = "cfnode_dev_node" in getattr(item, "fixturenames", ())
    if call.excinfo is not None and is_ours and not item.config.getoption("fulltrace"):
        from cfnode.testing.frames import drop_causes, hide_frames

        hide_frames()
        drop_causes(call.excinfo.value)
