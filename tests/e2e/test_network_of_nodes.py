"""Many epochs of a network on one machine, in which most of its nodes die once."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import Cfnode
from tests.e2e.sites import Places, many_epochs
from tests.lengths import only_whole

pytestmark = pytest.mark.world


@only_whole
def test_many_epochs_in_which_everybody_dies(cfnode: Cfnode, tmp_path: Path) -> None:
    """Finalize many epochs on one machine although most nodes are killed once."""
    with ExitStack() as stack:
        many_epochs(Places(stack, tmp_path, cfnode))
