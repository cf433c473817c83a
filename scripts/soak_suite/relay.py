"""Relay between two nodes: a TCP port that forwards bytes to another one, and can be cut."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

PIECE = 1 << 16


class Relay:
    """Listener on its own port that forwards each connection to `port`."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._cut = threading.Event()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def is_cut(self) -> bool:
        """Whether the relay passes nothing on."""
        return self._cut.is_set()

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        self._cut.set()
        with self._lock:
            _end(*self._pairs)

    def mend(self) -> None:
        """Pass data on again."""
        self._cut.clear()

    def lead_to(self, port: int) -> None:
        """Forward to another port: the node now listens there."""
        self._to = port

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            try:
                if self.is_cut:
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self._to), timeout=5)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._pairs |= {client: server, server: client}
                if self.is_cut:  # cut meanwhile
                    _end(client, server)
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, *pair: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                for sock in select.select(pair, [], [])[0]:
                    data = sock.recv(PIECE)
                    if not data:
                        raise ConnectionError
                    pair[sock is pair[0]].sendall(data)
        with self._lock:
            for sock in pair:
                self._pairs.pop(sock, None)
                sock.close()


def _end(*sockets: socket.socket) -> None:
    for sock in sockets:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
