"""Counts of equal requests of a peer, which is answered twice.

A peer that requests the same blocks or the same part of a state a third time is broken, or wants to waste our
resources; a Substrate server closes the connection then. An answer counts as soon as it is begun, so that
concurrent requests count too; it is not counted if it gave the peer nothing. Only hashes of the newest
requests of all peers together are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cfnode.core.bounded import BoundedDict
from cfnode.core.hashing import blake2_128

__all__ = ["Answering", "Repeats"]

MAX_REMEMBERED_REQUESTS = 512
MAX_EQUAL_REQUESTS = 2


@dataclass(slots=True)
class Answering:
    """An answer in progress. `useful`: whether it has given the peer something."""

    useful: bool = False


class Repeats:
    """The counts of answers by peer and request."""

    def __init__(self, max_requests: int = MAX_REMEMBERED_REQUESTS) -> None:
        self._answered = BoundedDict[tuple[str, bytes], int](max_requests)

    def exhausted(self, peer: str, request: bytes) -> bool:
        """Return whether the peer has received its two answers to this request."""
        return self._answered.get((peer, blake2_128(request)), 0) >= MAX_EQUAL_REQUESTS

    @contextmanager
    def answering(self, peer: str, request: bytes) -> Iterator[Answering]:
        """Count an answer that is given inside the `with`, if it is marked useful."""
        key = (peer, blake2_128(request))
        self._answered.put_last(key, self._answered.get(key, 0) + 1)
        answer = Answering()
        try:
            yield answer
        finally:
            if not answer.useful and key in self._answered:
                self._answered[key] -= 1
