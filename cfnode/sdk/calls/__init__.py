"""The pure layer: each call is a frozen record of its arguments and the steps that it takes."""

from __future__ import annotations

from typing import Generic, TypeVar

from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import Session
from cfnode.sdk.record import GivenRecord, settle

__all__ = ["Call"]

T_co = TypeVar("T_co", covariant=True)


class Call(GivenRecord, Generic[T_co]):
    """Something a client can be asked; `client.call(…)` gives its result, of the type T.

    Arguments are looked at when the call is made: a mapping is read as the documents' JSON, a decimal string
    as an amount, and what has another type is a ValidationError that names it. Any call may also raise a
    TransportError, where no usable answer came, and what its description names.
    """

    def __post_init__(self) -> None:
        settle(self)

    def steps(self, session: Session) -> Steps[T_co]:
        """The exchanges to make; returns the result."""
        raise NotImplementedError
