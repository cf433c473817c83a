"""The `cf_*` methods of elections: the data and the votes of validators' engines, as SCALE bytes.

Only engines read the bytes (Chainflip's ElectoralRuntimeApi).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cfnode.rpc.cf.method import method
from cfnode.rpc.cf.params import BYTE_NUMBERS
from cfnode.rpc.table.convert import ACCOUNT
from cfnode.rpc.table.rows import Method, Param

API: Final = "ElectoralRuntimeApi"
ELECTIONS: Final = ("solana", "bitcoin", "ethereum", "arbitrum", "tron", "bsc", "assethub", "generic")
VALIDATOR: Final = Param("validator", ACCOUNT)
VOTES: Final = Param("proposed_votes", BYTE_NUMBERS)
_NAMES: Final = {"validator": "account_id"}


def _rows() -> Iterator[Method]:
    for name in ELECTIONS:
        yield method(
            f"cf_{name}_electoral_data",
            "The elections that wait for the vote of a validator, as SCALE bytes.",
            params=(VALIDATOR,),
            api=API,
            names=_NAMES,
        )
        yield method(
            f"cf_{name}_filter_votes",
            "The votes that are still needed, as SCALE bytes.",
            params=(VALIDATOR, VOTES),
            api=API,
            names=_NAMES,
        )


METHODS: Final = tuple(_rows())
