"""The command of the design page about the metadata, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, shared
from tests.devchain.runtime.differences import NO_REASON
from tests.documentation import block
from tests.e2e.shell import Shell


@pytest.mark.world
def test_the_differences_of_the_metadata(tmp_path: Path) -> None:
    """Print the differences of the metadata by the design page's command, each with a reason."""
    folder = shared("vectors", "chainflip")
    commands = block("docs/design/metadata.md", "scripts/metadata FOLDER").replace("FOLDER", str(folder))
    printed = Shell(tmp_path).run(f"cd {ROOT}\n{commands}")
    assert "## Missing" in printed
    assert NO_REASON not in printed
