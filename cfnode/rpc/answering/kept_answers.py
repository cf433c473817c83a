"""The cache of answers that the hash of a block fixes, as texts.

A block's hash fixes its header and state, and so the answers to reads of these (`table.FixedBy`). Many
clients ask the same few questions in each block. The texts of the answers are kept, up to a number of bytes,
by the name of the method and the text of its parameters. A call without a block means the best one; so with
each change of the chain (a block imported, a new best or final one) all texts are dropped, and a text that
was being made during the change is not kept.
"""

from __future__ import annotations

from typing import Final, Protocol

from cfnode.core.bounded import SizedCache
from cfnode.serving.reply import SHARED_FROM, Part

__all__ = ["MAX_KEPT_ANSWERS_BYTES", "MAX_KEPT_ANSWER_BYTES", "NOTHING_KEPT", "KeptAnswers"]

MAX_KEPT_ANSWERS_BYTES: Final = 8 << 20
"""Bytes of all texts and questions."""
MAX_KEPT_ANSWER_BYTES: Final = 256 << 10
"""Bytes of one text."""
MAX_PARAMS: Final = 1024
"""Bytes of the parameters of a question that is kept."""
KEPT_ANSWER_COST_BYTES: Final = 400
"""Bytes of memory that an entry takes besides its texts."""

AnswerKey = tuple[str, bytes]
"""The name of a method, and the text of its parameters."""


class ChangingChain(Protocol):
    """A chain, as far as answers depend on its changes."""

    @property
    def revision(self) -> int:
        """A number that increases with each change."""


class KeptAnswers:
    """The texts of one server's answers; without a chain, no text is kept."""

    def __init__(self, chain: ChangingChain | None = None) -> None:
        self._chain = chain
        self._of = _NONE
        """The revision that the texts belong to."""
        self._texts = SizedCache[AnswerKey, bytes](MAX_KEPT_ANSWERS_BYTES, _cost)

    @property
    def size(self) -> int:
        """The number of bytes kept."""
        return self._texts.size

    @property
    def revision(self) -> int:
        """The present revision of the chain."""
        return _NONE if self._chain is None else self._chain.revision

    def get(self, question: AnswerKey) -> Part | None:
        """Return the JSON text of the answer, if it is kept; a long one is shared by all answers with it."""
        if self._chain is None or self._of != self._chain.revision:
            return None
        text = self._texts.get(question)
        return memoryview(text) if text is not None and len(text) >= SHARED_FROM else text

    def keep(self, question: AnswerKey, text: Part, revision: int) -> None:
        """Keep the text of an answer.

        `revision`: that of the chain when the answer was begun.
        """
        if revision == _NONE or revision != self.revision:
            return
        if len(text) > MAX_KEPT_ANSWER_BYTES or len(question[1]) > MAX_PARAMS:
            return
        if self._of != revision:
            self._texts.clear()
            self._of = revision
        self._texts.add(question, bytes(text))


def _cost(question: AnswerKey, text: bytes) -> int:
    return KEPT_ANSWER_COST_BYTES + len(question[1]) + len(text)


_NONE: Final = -1
NOTHING_KEPT: Final = KeptAnswers()
"""The cache of a server without a chain: it keeps no text."""
