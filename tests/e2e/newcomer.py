"""A person with an empty home, no cfnode on the path, and one shell into which blocks are pasted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.deploy.wheel import OFFLINE

NODE_VARIABLES = ("CFNODE_URL", "CFNODE_SWAP_REQUEST_BACKEND", "CFNODE_SWAP_WATCH_BACKEND")
"""By which commands find a node on another port than 9944."""
END, END_WRITTEN = "\x1e", r"\036"
"""Printed after each block, and how a shell writes it."""


class Newcomer:
    """A shell, and all that it has printed."""

    def __init__(self, folder: Path, port: int) -> None:
        tools = folder / "tools"
        tools.mkdir()
        (tools / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
        variables = {
            "HOME": str(folder),
            "PATH": f"{tools}:/usr/bin:/bin",
            **OFFLINE,
            "CFNODE_RPC_PORT": str(port),
            "CFNODE_PORT": "0",
            "CFNODE_PROMETHEUS_PORT": "0",
            **dict.fromkeys(NODE_VARIABLES, f"http://127.0.0.1:{port}"),
        }
        self.printed = ""
        self._port = port
        self._shell = subprocess.Popen(
            ["bash", "-em", "+o", "posix"],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._write("trap 'kill -KILL $(jobs -p) 2> /dev/null' EXIT")

    def paste(self, commands: str) -> str:
        """Run commands, each of which has to succeed, and return their output."""
        self._write(commands.replace("127.0.0.1:9944", f"127.0.0.1:{self._port}"))
        self._write(f"printf '{END_WRITTEN}'")
        assert self._shell.stdout is not None
        printed = ""
        while not printed.endswith(END):
            letter = self._shell.stdout.read(1)
            assert letter, f"{commands}\nended the shell:\n{printed}"
            printed += letter
        self.printed += printed.removesuffix(END)
        return printed.removesuffix(END)

    def _write(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{text}\n")
        self._shell.stdin.flush()

    def end(self) -> int:
        """Close the terminal."""
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        return self._shell.wait(timeout=60)
