"""Errors of the ledger: of the node, the chain or the database; each text names the remedy."""

from __future__ import annotations

from cfnode.core.safe_text import printable

__all__ = [
    "AccessRefused",
    "BrokenBooks",
    "CallError",
    "DatabaseError",
    "Discarded",
    "LedgerError",
    "MissingLibrary",
    "NodeAway",
    "NodeError",
    "NodeSlow",
    "TooLarge",
    "WrongNodeChain",
]


MAX_LEDGER_ERROR_CHARACTERS = 2_000


class LedgerError(Exception):
    """Error that ends the command; the text says what to do.

    It is one printable line, whatever a node, a broker or a database wrote into it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(printable(text, MAX_LEDGER_ERROR_CHARACTERS))


class MissingLibrary(LedgerError):
    """A library of an extra is not installed; the text has the pip command."""


class WrongNodeChain(LedgerError):
    """The node follows another chain than the database; the text has both hashes."""


class BrokenBooks(LedgerError):
    """The database cannot be used as it is: damaged, foreign, or of a newer version of cfnode."""


class DatabaseError(LedgerError):
    """The database refused the request or broke the connection; trying again later may help."""


class NodeError(LedgerError):
    """The node did not answer, or sent something malformed; trying again later may help."""


class NodeAway(NodeError):
    """The connection to the node failed or broke."""


class NodeSlow(NodeError):
    """The node did not answer in time."""


class AccessRefused(LedgerError):
    """The node's access rules refuse this client; trying again changes nothing."""


class TooLarge(NodeError):
    """The answer to a request is larger than the limit; a request for fewer blocks may fit."""


class CallError(LedgerError):
    """The node refused one call of JSON-RPC."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} [code {code}]")
        self.method, self.code, self.message = method, code, message


class Discarded(LedgerError):
    """The node no longer has the state of a block."""

    def __init__(self, number: int) -> None:
        super().__init__(f"the node no longer has the state of block {number}")
        self.number = number
