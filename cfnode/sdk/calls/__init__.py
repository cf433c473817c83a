"""Base of the SDK's calls: a frozen record of arguments, and the exchanges it makes, without I/O."""

from __future__ import annotations

from typing import Generic, TypeVar

from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import GivenRecord, settle

__all__ = ["Call", "T_co"]

T_co = TypeVar("T_co", covariant=True)


class Call(GivenRecord, Generic[T_co]):
    """A call; `client.call(…)` returns its result, of the type T.

    Arguments are checked when the call is created: a mapping is read as JSON, a decimal string as an amount,
    and any other type raises ValidationError with the argument's name. Any call may also raise a
    TransportError, and the errors that its docstring names.
    """

    def __post_init__(self) -> None:
        """Convert the arguments to their declared types. Raises ValidationError."""
        settle(self)

    def steps(self, session: ClientSession) -> Steps[T_co]:
        """Yield the exchanges to make; return the result."""
        raise NotImplementedError
