"""A question to a peer: the request, and the check of its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.node.asking.reputation import PeerFailure

__all__ = ["Question"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A request and the check of its answer.

    `check` turns the raw bytes into a verified value, in a thread. It raises RequestRefused where the peer
    refuses, and one of `asker.INVALID_ANSWER` where the answer cannot be true.

    `failure`: what a peer is charged with if its answer fails the check; `error_prefix` precedes the reason.
    `lenient`: a peer that does not answer in time is asked after others, but not replaced: it may be busy.
    `may_lack`: an honest peer may lack the data, so a refusal costs nothing.
    `proves`: the check alone verifies the answer. If not, the caller verifies it (`Asker.credit`).
    """

    protocol: str
    request: bytes
    check: Callable[[bytes], T]
    failure: PeerFailure = PeerFailure.BAD_PROOF
    error_prefix: str = ""
    lenient: bool = False
    may_lack: bool = False
    proves: bool = True
