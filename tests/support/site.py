"""The documentation as a site, built without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WITHOUT_NETWORK = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise SystemExit(f"the build uses the network: {event} {arguments}")
sys.addaudithook(refuse)
from mkdocs.__main__ import cli
cli()
"""


def build(project: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a project as `scripts/check` does, with every connection refused."""
    config = project / "scripts" / "site" / "mkdocs.yml"
    command = [sys.executable, "-c", WITHOUT_NETWORK, "build", "--strict", "-f", config, "-d", target]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=180, check=False)
