"""A value of a wrong type is refused as a parameter, in words that name what is wrong; whatever the method.

No node: the parameters of every row are read as those of a call are.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any, Final

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import InvalidParams, RpcCall, RpcError
from cfnode.devchain.methods.rows import SECTION
from cfnode.rpc.answering.arguments import read_arguments
from cfnode.rpc.reference import full_table
from cfnode.rpc.table.rows import Row
from tests.rpc.mutations import FITS_NOWHERE, WRONG, mutated
from tests.rpc.sane import PARAMS

ROWS: Final[list[Row]] = [row for row in full_table(SECTION).rows if row.params]
OFFICIAL: Final = re.compile(
    r"(invalid (type|value|length|number)|missing field `|unknown (variant|field) `|expected value|trailing "
    r"|data did not match any variant of untagged enum |Expected a valid asset specifier|out of bounds"
    r"|number out of range|invalid hex character: |Invalid(Length|Character)"
    r"|Base 58 requirement is violated|Length is bad|Invalid checksum|Invalid SS58 prefix byte"
    r"|Odd number of digits|Invalid character |provided string contained |buffer provided "
    r"|\(\)|No more params)"
)
NO_CHILD: Final = 4003
"""The code for the malformed key of a child trie, which is read with the parameters."""
ANY_OBJECT: Final = ("dev_govern", "arguments")
"""A parameter whose members the metadata names."""


def refusal(row: Row, params: Any) -> str | None:
    """Return the words that refuse parameters; None where they are taken."""
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": row.name, "params": params})
    call = jsonrpc.parse(text.encode(), 1)
    assert isinstance(call, RpcCall)
    try:
        read_arguments(row, call)
    except InvalidParams as error:
        return str(error.data)
    except RpcError as error:
        assert error.code == NO_CHILD, (row.name, params)
        return "missing field `"
    return None


def by_name(row: Row, values: list[Any]) -> dict[str, Any]:
    """Return parameters by name."""
    return dict(zip((param.name for param in row.params), values, strict=False))


def sane(row: Row) -> list[Any]:
    """Return parameters that make sense, and null for those that may be left out."""
    values = list(PARAMS.get(row.name, []))
    return values + [None] * (len(row.params) - len(values))


def is_named(row: Row, words: str) -> bool:
    """Return whether the words name the parameter, or of an official method are the official node's."""
    if any(words.startswith(f"{param.name}: ") for param in row.params):
        return True
    return words.startswith("missing field `") if row.name.startswith("dev_") else bool(OFFICIAL.match(words))


def test_a_wrong_type_is_refused_in_each_place_of_each_method() -> None:
    """Refuse a wrong type in each place of each method, by position and by name, in words that name it."""
    source = random.Random(1)
    for row in ROWS:
        for place, param in enumerate(row.params):
            for value in (*FITS_NOWHERE, *source.sample(WRONG, 3)):
                values = sane(row)
                values[place] = value
                words = [refusal(row, values), refusal(row, by_name(row, values))]
                if None in words:
                    is_object = isinstance(value, dict) and (row.name, param.name) == ANY_OBJECT
                    assert is_object or value not in FITS_NOWHERE, (row.name, values)
                else:
                    assert all(is_named(row, str(word)) for word in words), (row.name, values, words)
                    if row.name.startswith("dev_"):
                        named = [str(word).startswith(f"{param.name}: ") for word in words]
                        assert named == [True, True], (row.name, values, words)


def test_a_parameter_that_is_missing_at_the_end_is_named_by_our_methods_alone() -> None:
    """Name a missing parameter in our own methods, and answer in the official words elsewhere."""
    for row in ROWS:
        place = next((index for index, param in enumerate(row.params) if not param.optional), None)
        if place is None:
            continue
        words = refusal(row, sane(row)[:place])
        name = row.params[place].name
        ours = row.name.startswith("dev_")
        assert words == (f"{name}: the parameter is missing" if ours else "No more params"), row.name


def test_what_makes_sense_but_for_one_place_is_taken_or_refused_in_words() -> None:
    """Accept nearly sane parameters, or refuse them in words."""
    for row in ROWS:
        for values in mutated(sane(row), row.name, 12):
            for params in (values, by_name(row, values)):
                words = refusal(row, params)
                assert words is None or is_named(row, words), (row.name, params, words)
                if words is not None and not row.name.startswith("dev_"):
                    assert OFFICIAL.match(words) or "at most" in words, (row.name, params, words)
