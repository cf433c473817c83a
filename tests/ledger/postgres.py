"""A PostgreSQL server of one's own: Debian's package, started on a socket in a folder that goes with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import repeats

__all__ = ["BOTH", "MISSING", "Server", "by_length", "is_installed", "running_postgres"]

MISSING = "PostgreSQL is not here: install the package postgresql"
BOTH = ("sqlite", pytest.param("postgresql", marks=pytest.mark.world))
"""Parameters of a test of the books on both databases."""
by_length = pytest.mark.parametrize("make_database", BOTH[: repeats(2, 1)], indirect=True)
"""For a long test of the books: on SQLite, and with `--all` on PostgreSQL too."""


def _programs() -> list[Path]:
    return sorted(path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def is_installed() -> bool:
    """Return whether there is a PostgreSQL server to start."""
    return bool(_programs())


def _runs(process: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@dataclass(frozen=True, slots=True)
class Server:
    """A server; `url` has a place for a database's name."""

    folder: Path
    user: str | None
    options: str

    @property
    def url(self) -> str:
        """The URL of a database, but for its name."""
        return f"postgresql://postgres@/{{}}?host={self.folder}"

    def new_database(self, name: str, template: str = "template1") -> str:
        """Create a database, a copy of another one without connections; its URL."""
        import psycopg

        with psycopg.connect(self.url.format("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url.format(name)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.control("-l", str(self.folder / "log"), "-o", self.options, "start")

    def crash(self) -> None:
        """Kill -9 of the server and all of its processes."""
        server = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        for process_id in (server, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        while any(_runs(process_id) for process_id in (server, *map(int, children))):
            time.sleep(0.01)
        # Where nothing waits for orphans, the server's number still looks like that of a process.
        for lock in (self.folder / "data" / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
            lock.unlink(missing_ok=True)

    def allow(self, network: str) -> None:
        """Let all addresses of a network connect."""
        with (self.folder / "data" / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {network} trust\n")
        self.control("reload")

    def control(self, *order: str, check: bool = True) -> None:
        """Run pg_ctl, and wait until it is done."""
        command = [str(_programs()[-1] / "pg_ctl"), "-D", str(self.folder / "data"), "-w", *order]
        self.run(command, check=check)

    def run(self, command: list[str], *, check: bool = True) -> None:
        """Run a command as the server's user."""
        about: dict[str, Any] = {"user": self.user, "cwd": self.folder, "stdout": subprocess.DEVNULL}
        subprocess.run(command, check=check, **about)


@contextmanager
def running_postgres(*settings: str) -> Iterator[Server]:
    """Yield a server that runs, without fsync; `settings` as for `postgres -c`."""
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="cfnode-pg-", dir="/tmp"))  # a socket's path is short
    folder.chmod(0o700)
    if user is not None:
        shutil.chown(folder, user)
    usual = ("listen_addresses=''", f"unix_socket_directories={folder}", "fsync=off")
    server = Server(folder, user, " ".join(f"-c {setting}" for setting in (*usual, *settings)))
    initdb = [str(_programs()[-1] / "initdb"), "-D", str(folder / "data"), "-U", "postgres", "--auth=trust"]
    try:
        server.run([*initdb, "--no-sync", "-E", "UTF8"])
        server.start()
        yield server
    finally:
        server.control("-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)
