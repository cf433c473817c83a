"""What is asked of a peer, and how does its answer become something that can be believed?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.node.sync.reputation import Failure

__all__ = ["Question"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A request and the check of its answer. `check` makes a verified value of raw bytes, in a thread; it
    raises RequestFailed where the peer says that it cannot help, and one of `asker.LIES` where it lies.

    `wrong`: the failure of a peer whose answer does not pass; `words` go before the reason.
    `gentle`: a peer that does not answer in time is asked after others, but not replaced: it may be at work.
    `may_lack`: an honest peer may well not have this, so a refusal costs nothing.
    `proves`: the check alone verifies the answer. If not, the caller judges it further (`Asker.credit`).
    """

    protocol: str
    request: bytes
    check: Callable[[bytes], T]
    wrong: Failure = Failure.BAD_PROOF
    words: str = ""
    gentle: bool = False
    may_lack: bool = False
    proves: bool = True
