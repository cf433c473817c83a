"""Many epochs of a network of machines, with wires that delay and lose, and once break."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import Cfnode
from tests.e2e.sites import Places, Site, many_epochs
from tests.e2e.wires import Machine, NotPermitted, Switch, machines
from tests.lengths import only_whole
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

DELAY, LOSS = 0.025, 0.02
"""A round trip of 50 ms, and every fiftieth frame lost."""
BLOCK_MS = 600
"""A pace that five nodes on a busy machine follow: a node 256 blocks behind finds no state at its peers."""


@pytest.fixture
def wired() -> Iterator[tuple[Switch, list[Machine]]]:
    """Yield five machines whose wires delay and lose frames."""
    try:
        with machines(5) as made:
            switch = Switch(made, delay=DELAY, loss=LOSS)
            with switch.running():
                yield switch, made
    except NotPermitted as error:
        pytest.skip(str(error))


@only_whole
def test_many_epochs_over_bad_wires_and_a_partition_that_heals(
    wired: tuple[Switch, list[Machine]], cfnode: Cfnode, tmp_path: Path
) -> None:
    """Finalize many epochs over bad wires, and catch up after a partition."""
    switch, made = wired

    def partition(authority: Site, others: list[Site]) -> None:
        """Check that nodes which do not receive the authority's blocks catch up when they do."""
        assert switch.lost > 0, "the wires lose frames"
        switch.cut_off(made[0])
        here = authority.final
        wait_until(lambda: authority.final >= here + 10, "the authority goes on alone")
        assert max(site.final for site in others) <= here + 2, "nothing comes through a cut wire"
        switch.cut_off()
        wait_until(lambda: min(site.final for site in others) >= here + 12, "all hear of it in the end")

    with ExitStack() as stack:
        many_epochs(Places(stack, tmp_path, cfnode, made, BLOCK_MS), partition)
