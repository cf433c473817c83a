"""Listening sockets, and the errors of a port that cannot be opened."""

from __future__ import annotations

import errno
import logging
import resource
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Listen", "ListenError", "addresses", "allow_files", "listen"]

log = logging.getLogger("cfnode.serving")

OTHER_FILES: Final = 512
"""File descriptors for everything else: peers, database, executor processes."""
USER_TIMEOUT_MS: Final = 30_000
"""TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged."""
BACKLOG: Final = 1024


class ListenError(Exception):
    """A port cannot be listened on; the text names the port and what to do."""

    exit_code = 5


@dataclass(frozen=True, slots=True)
class Listen:
    """The addresses and the port to listen at.

    `what` names the port in errors: "JSON-RPC"; `remedy` says what the user can do.
    """

    hosts: Sequence[str]
    """Host names or addresses. All addresses of a name are used; those after the first may fail."""
    port: int
    """The port; 0 for any free one, the same at all addresses."""
    what: str
    remedy: str


def listen(where: Listen) -> list[socket.socket]:
    """Return listening sockets. Raises ListenError if the first address gets none.

    Further addresses may fail: a machine without IPv6 gets the IPv4 socket alone.
    """
    (family, host), *other_addresses = _resolved(where)
    sockets = [_bind(where, family, host, where.port)]
    for family, host in other_addresses:
        try:
            sockets.append(_bind(where, family, host, sockets[0].getsockname()[1]))
        except ListenError as error:
            log.debug("%s", error)
    return sockets


def _resolved(where: Listen) -> list[tuple[socket.AddressFamily, str]]:
    addresses: dict[tuple[socket.AddressFamily, str], None] = {}
    try:
        for host in where.hosts:
            for family, *_, address in socket.getaddrinfo(host, where.port, type=socket.SOCK_STREAM):
                addresses[family, str(address[0])] = None
    except OSError as error:
        raise ListenError(_failure(where, error, host)) from None
    return list(addresses)


def _bind(where: Listen, family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    try:
        sock = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ListenError(_failure(where, error, host)) from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
        if family is socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ListenError(_failure(where, error, host)) from None
    return sock


def _failure(where: Listen, error: OSError, host: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"the {where.what} port {where.port} on {host} is in use; {where.remedy}"
    if error.errno == errno.EACCES:
        return f"the {where.what} port {where.port} needs privileges; {where.remedy}"
    reason = error.strerror or str(error)
    return f"cannot listen for {where.what} on {host}:{where.port}: {reason}; {where.remedy}"


def addresses(sockets: Sequence[socket.socket]) -> list[str]:
    """Return the addresses of sockets as texts: `127.0.0.1:9944` and `[::1]:9944`."""
    names = [sock.getsockname() for sock in sockets]
    return [f"[{name[0]}]:{name[1]}" if len(name) == 4 else f"{name[0]}:{name[1]}" for name in names]


def allow_files(connections: int, remedy: str) -> None:
    """Raise the process's limit of open files to what the connections need, as far as the system allows.

    `remedy`: what a warning advises besides raising the limit, such as "lower --rpc-max-connections".
    """
    needed = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        log.warning(
            "%d connections need %d open files, this process may have %d: %s, "
            "or raise the limit (ulimit -n, LimitNOFILE= of a service)", connections, needed, hard, remedy,
        )  # fmt: skip
        needed = hard
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
