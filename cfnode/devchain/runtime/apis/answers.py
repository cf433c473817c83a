"""Results of runtime APIs that may be refused: `Result<_, DispatchErrorWithMessage>`.

A refusal is the name of a pallet's error (`Module`), a text of the API itself (`RawMessage`), or another
dispatch error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.frame.errors import DispatchErrorValue

__all__ = ["Answer", "ApiRefusal", "or_message"]

T = TypeVar("T")
Answer = tuple[Literal["Ok"], T] | tuple[Literal["Err"], tuple[str, bytes | DispatchErrorValue]]
"""A `Result<T, DispatchErrorWithMessage>`."""


class ApiRefusal(Exception):
    """A refusal that is a text, not a pallet's error."""


def or_message(answer: Callable[[], T]) -> Answer[T]:
    """Return what `answer` returns or raises, as a `Result<_, DispatchErrorWithMessage>`."""
    try:
        return "Ok", answer()
    except ApiRefusal as refusal:
        return "Err", ("RawMessage", str(refusal).encode())
    except DispatchError as error:
        if error.name is not None:
            return "Err", ("Module", error.name.encode())
        return "Err", ("Other", error.value)
