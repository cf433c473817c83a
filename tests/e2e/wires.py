"""Machines of their own for nodes: network namespaces, and wires between them that delay, lose and break.

A namespace has one TAP device; the other end of all of them is a switch in this process. The kernel's own
emulation (`tc netem`) is a module that many machines lack, and cannot break a wire between two frames.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
OWN_NAMESPACE = "/proc/thread-self/ns/net"
FRAME = 2048

_libc = ctypes.CDLL(None, use_errno=True)


class NotPermitted(Exception):
    """The machine allows no namespaces or devices; the text says what is missing."""


class Machine:
    """A namespace with the address 10.77.0.<number>; `here` is for this thread and what it starts."""

    def __init__(self, number: int) -> None:
        self.number, self.address = number, f"10.77.0.{number}"
        home = os.open(OWN_NAMESPACE, os.O_RDONLY)
        try:
            _checked("unshare", _libc.unshare(CLONE_NEWNET))
            try:
                self._namespace = os.open(OWN_NAMESPACE, os.O_RDONLY)
                self.tap = self._device()
            finally:
                _checked("setns", _libc.setns(home, CLONE_NEWNET))
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotPermitted(
                f"namespaces and TAP devices need root, ip and /dev/net/tun: {error}"
            ) from error
        finally:
            os.close(home)

    def _device(self) -> int:
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", b"tap0", IFF_TAP | IFF_NO_PI))
        for arguments in (
            "link set lo up",
            f"addr add {self.address}/24 dev tap0",
            "link set tap0 up",
        ):
            subprocess.run(["ip", *arguments.split()], check=True, capture_output=True)
        return tap

    @property
    def place(self) -> str:
        """Address at which a node of this machine listens."""
        return f"/ip4/{self.address}/tcp/30333"

    @contextmanager
    def here(self) -> Iterator[None]:
        """Run the block in the namespace of the machine."""
        home = os.open(OWN_NAMESPACE, os.O_RDONLY)
        _checked("setns", _libc.setns(self._namespace, CLONE_NEWNET))
        try:
            yield
        finally:
            _checked("setns", _libc.setns(home, CLONE_NEWNET))
            os.close(home)

    def close(self) -> None:
        """Close the device and the namespace."""
        os.close(self.tap)
        os.close(self._namespace)


class Switch:
    """Carries frames between machines: each after `delay` seconds, and one in `1 / loss` never."""

    def __init__(self, machines: list[Machine], *, delay: float, loss: float) -> None:
        self._machines, self._delay, self._loss = machines, delay, loss
        self._dice = random.Random(7)
        self._cut: set[int] = set()
        self._due: list[tuple[float, int, int, bytes]] = []
        self._stopped = threading.Event()
        self.carried = self.lost = 0

    def cut_off(self, *machines: Machine) -> None:
        """Let these machines hear each other only from now on; none: all hear all."""
        self._cut = {machine.number for machine in machines}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Pass frames between the machines while the block runs."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def _run(self) -> None:
        taps = {machine.tap: machine for machine in self._machines}
        while not self._stopped.is_set():
            wait = max(0.0, self._due[0][0] - time.monotonic()) if self._due else 0.05
            for tap in select.select(list(taps), [], [], min(wait, 0.05))[0]:
                self._take(taps[tap], os.read(tap, FRAME))
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, tap, frame = heapq.heappop(self._due)
                os.write(tap, frame)

    def _take(self, sender: Machine, frame: bytes) -> None:
        """Take what is addressed to this machine: on a hub, every machine gets every frame."""
        for machine in self._machines:
            if machine is sender:
                continue
            self.carried += 1
            apart = (sender.number in self._cut) != (machine.number in self._cut)
            if apart or self._dice.random() < self._loss:
                self.lost += 1
            else:
                heapq.heappush(self._due, (time.monotonic() + self._delay, self.carried, machine.tap, frame))


@contextmanager
def machines(number: int) -> Iterator[list[Machine]]:
    """Yield so many machines, not wired yet. Raises NotPermitted."""
    if not Path("/dev/net/tun").exists():
        raise NotPermitted("/dev/net/tun is not here")
    made: list[Machine] = []
    try:
        made.extend(Machine(index + 1) for index in range(number))
        yield made
    finally:
        for machine in made:
            machine.close()


def _checked(name: str, result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
