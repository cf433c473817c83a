"""Arguments and results of runtime APIs, encoded and decoded by the metadata alone.

The metadata of the block's own runtime describes parameters and result (metadata V15, `apis`), so a parameter
or a field that a newer runtime adds needs no code here. Arguments are given by name. A parameter that the
caller does not know is sent as None if its type allows that. The names of older runtimes are in `older_apis`;
a value that does not fit the runtime's type is unsupported there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core import older_apis
from cfnode.core.scale import Codec, ScaleError
from cfnode.core.scale.metadata import ApiFunction, Metadata
from cfnode.core.scale.types import Variants

__all__ = ["ApiMissing", "ApiRefused", "ApiReturnedNone", "api_function", "encode_arguments", "opened"]


class ApiMissing(Exception):
    """The block's runtime does not have this method, or not with these parameters."""


class ApiRefused(Exception):
    """The runtime answered `Err`. `text` is its message, None if that was not readable."""

    def __init__(self, function: str, error: Any) -> None:
        self.text = _message(error)
        super().__init__(f"{function}: {error if self.text is None else self.text}")


class ApiReturnedNone(Exception):
    """An older runtime returned None where today's return an error; `str()` is all that is known."""


def api_function(metadata: Metadata, spec_version: int, function: str) -> ApiFunction:
    """Return the method of a runtime API, by its name of today or its older one. Raises ApiMissing."""
    for name in (function, older_apis.FUNCTIONS.get(function, function)):
        if metadata.has_api(name):
            return metadata.api_method(name)
    if not metadata.apis:
        raise ApiMissing(
            f"runtime {spec_version} does not describe its APIs (metadata V15); {function} needs that"
        )
    raise ApiMissing(f"runtime {spec_version} has no {function}")


def encode_arguments(method: ApiFunction, arguments: Mapping[str, Any]) -> bytes:
    """Return the SCALE arguments of a method in the order of its parameters. Raises ApiMissing.

    `arguments` maps today's names of parameters to values; the names in the runtime may be older.
    """
    parts = []
    for name, codec in method.inputs:
        current_name = name if name in arguments else older_apis.PARAMETERS.get(name, name)
        if current_name in arguments:
            parts.append(_given(method, name, codec, arguments[current_name]))
        else:
            parts.append(_absent(method, name, codec))
    return b"".join(parts)


def opened(metadata: Metadata, function: str, type_id: int, value: Any) -> tuple[Any, int]:
    """Return the value inside of a `Result`, and its type.

    An older runtime may return an `Option` around the `Result`, or in place of it: that is opened too. A
    value of another type is returned as it is. Raises ApiRefused, ApiReturnedNone.
    """
    case = value[0] if isinstance(value, tuple) else value
    path = metadata.registry.type(type_id).path
    if path == ("Option",) and function in older_apis.NEVER_NONE:
        if value is None:
            raise ApiReturnedNone(f"{function} returned None: this runtime has no such pool, or cannot")
        return opened(metadata, function, _inner(metadata, type_id, "Some"), value)
    if path != ("Result",):
        return value, type_id
    payload = value[1] if isinstance(value, tuple) else ()
    if case == "Err":
        raise ApiRefused(function, _named(metadata, payload))
    return payload, _inner(metadata, type_id, "Ok")


def _given(method: ApiFunction, name: str, codec: Codec, value: Any) -> bytes:
    """Return an encoded argument; raise ApiMissing if it does not fit.

    The caller has validated the value, so one that does not fit is unknown to this runtime.
    """
    try:
        return codec.encode(value)
    except ScaleError as error:
        reason = f"requires {name}" if value is None else f"accepts no such {name}: {error}"
        raise ApiMissing(f"{method.function} of this runtime {reason}") from None


def _absent(method: ApiFunction, name: str, codec: Codec) -> bytes:
    try:
        return codec.encode(None)
    except ScaleError:
        raise ApiMissing(
            f"{method.function} of this runtime requires {name}, which this node does not know"
        ) from None


def _inner(metadata: Metadata, type_id: int, case: str) -> int:
    definition = metadata.registry.type(type_id).definition
    assert isinstance(definition, Variants)
    return next(variant.fields for variant in definition.variants if variant.name == case)[0].type


def _named(metadata: Metadata, error: Any) -> Any:
    """Return a module's error by its name; older APIs returned its numbers."""
    if not (isinstance(error, tuple) and error[0] == "Module" and isinstance(error[1], dict)):
        return error
    try:
        _, name, _ = metadata.error(error[1]["index"], error[1]["error"])
    except ScaleError:
        return error
    return "Module", name.encode()


def _message(error: Any) -> str | None:
    if isinstance(error, tuple) and error[0] in ("Module", "RawMessage") and isinstance(error[1], bytes):
        try:
            return error[1].decode()
        except UnicodeDecodeError:
            return None
    return None
