"""Units of systemd: their settings, and the system calls that they allow."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.deploy.programs import DEPLOY, output_of, program

UNIT = DEPLOY / "systemd" / "cfnode.service"
LEDGER = UNIT.with_name("cfnode-ledger.service")
SERVICE = UNIT.with_name("cfnode-service.service")

INSTALLED = "/opt/cfnode/bin/cfnode"


def values(file: Path, name: str) -> list[str]:
    """Return all values of a setting, in order."""
    return re.findall(rf"^{name}=(.*)$", file.read_text(), re.MULTILINE)


def variables(lines: list[str]) -> dict[str, str]:
    """Return the variables that lines set."""
    return dict(part.split("=", 1) for line in lines for part in shlex.split(line, comments=True))


def allowed_calls(unit_file: Path) -> set[str]:
    """Return the system calls that a unit allows."""
    listed = output_of(program("systemd-analyze", "systemd"), "syscall-filter", "--no-pager")
    groups: dict[str, list[str]] = {}
    for line in listed.splitlines():
        if line.startswith("@"):
            members = groups.setdefault(line.strip(), [])
        elif line.startswith("    ") and not line.strip().startswith("#"):
            members.append(line.strip())

    def expanded(name: str) -> set[str]:
        return {
            call for member in groups[name] for call in (expanded(member) if member[0] == "@" else {member})
        }

    allowed: set[str] = set()
    for text in values(unit_file, "SystemCallFilter"):
        names = {call for group in text.lstrip("~").split() for call in expanded(group)}
        allowed = allowed - names if text.startswith("~") else allowed | names
    return allowed


def traced_calls(trace: Path) -> set[str]:
    """Return the system calls in strace's summary."""
    rows = [line.split()[-1] for line in trace.read_text().splitlines() if line.strip()]
    return {name for name in rows if re.fullmatch(r"[a-z]\w+", name)} - {"total", "syscall"}


ONLY_AS_ROOT = {"fchown"}
"""SQLite gives a new log to the owner of its database, where it may: not in the service."""
STATE = "/var/lib/cfnode-ledger"
