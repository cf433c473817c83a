"""Write the methods of the SDK's clients from its calls, or (--check) say that they differ.

A call is a dataclass; its fields are the arguments of a method of both clients. Editors read no signature
that a program computes, so each method stands in `cfnode/sdk/methods.py` with its own, written here.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from textwrap import indent, wrap
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "cfnode" / "sdk" / "methods.py"
WIDTH = 110
NEWLINE, NO_BREAK = "\n", "\u00a0"
sys.path.insert(0, str(ROOT))
# The package imports the module that is written here, which may be missing or of older calls.
sys.modules["cfnode.sdk.methods"] = stand_in = ModuleType("cfnode.sdk.methods")
vars(stand_in).update(AwaitedMethods=object, BlockingMethods=object)

from cfnode.sdk.calls import (  # noqa: E402
    Call,
    deposits,
    development,
    infos,
    quotes,
    statuses,
    vault_swaps,
)

CALLS: tuple[type[Call[Any]], ...] = (
    quotes.GetQuote,
    quotes.GetQuoteV2,
    statuses.GetStatus,
    statuses.GetStatusV2,
    deposits.RequestDepositAddress,
    deposits.RequestDepositAddressV2,
    vault_swaps.EncodeVaultSwapData,
    infos.GetChains,
    infos.GetAssets,
    infos.GetSwapLimits,
    infos.GetRequiredBlockConfirmations,
    infos.GetChannelOpeningFees,
    infos.GetBoostLiquidity,
    development.DevDeposit,
)

HEAD = '''"""The methods of both clients, one for each call.

Written by scripts/sdk_methods.py: change the calls instead. Descriptions are theirs, hence the longer lines.
"""

# fmt: off
# ruff: noqa: A002, E501
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from cfnode.sdk.calls import Call
from cfnode.sdk.calls.deposits import RequestDepositAddress, RequestDepositAddressV2
from cfnode.sdk.calls.development import DevDeposit
from cfnode.sdk.calls.infos import (
    GetAssets,
    GetBoostLiquidity,
    GetChains,
    GetChannelOpeningFees,
    GetRequiredBlockConfirmations,
    GetSwapLimits,
)
from cfnode.sdk.calls.quotes import GetQuote, GetQuoteV2
from cfnode.sdk.calls.statuses import GetStatus, GetStatusV2
from cfnode.sdk.calls.vault_swaps import EncodeVaultSwapData
from cfnode.sdk.models.chain_info import AssetInfo, BoostLiquidity, ChainInfo, SwapLimits
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.models.quote import Quote, QuoteCcmParams, QuoteResponse, QuotesResponse
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.models.status import SwapStatus, SwapStatusV1
from cfnode.sdk.models.vault_swap import VaultSwapData

__all__ = ["AwaitedMethods", "BlockingMethods"]

T = TypeVar("T")
'''
CLASS = '''

class {kind}Methods:
    """Each call as a method {purpose}."""

    {define} call(self, call: Call[T]) -> T:
        """The result of any call."""
        raise NotImplementedError
'''


def module() -> str:
    """The whole text of `methods.py`."""
    blocking = _class("Blocking", "that returns its result", "def", "")
    return HEAD + blocking + _class("Awaited", "whose result is awaited", "async def", "await ")


def _class(kind: str, purpose: str, define: str, wait: str) -> str:
    head = CLASS.format(kind=kind, purpose=purpose, define=define)
    return head + "".join(_method(call, define, wait) for call in CALLS)


def _method(call: type[Call[Any]], define: str, wait: str) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call.__name__).lower()
    result = inspect.get_annotations(call.steps)["return"].removeprefix("Steps[")[:-1]
    words = f"As `SwapSDK.{name}`, to be awaited." if wait else inspect.cleandoc(call.__doc__ or "")
    given = [field.name for field in fields(call)]
    head = _wrapped(f"{define} {name}(", ["self", *map(_parameter, fields(call))], f") -> {result}:", 4)
    body = f'''"""{words}{NEWLINE if NEWLINE in words else ""}"""
{_wrapped(f"return {wait}self.call({call.__name__}(", given, "))", 8)}'''
    return NEWLINE + indent(head + NEWLINE + indent(body, "    "), "    ") + NEWLINE


def _parameter(field: Field[Any]) -> str:
    kind = re.sub(r"\bAmount\b", "int", str(field.type))
    return f"{field.name}: {kind}" + ("" if field.default is MISSING else f" = {field.default!r}")


def _wrapped(head: str, items: Sequence[str], tail: str, margin: int) -> str:
    """On one line where it fits, else with the items on lines of their own."""
    line = ", ".join(items)
    if len(head + line + tail) <= WIDTH - margin:
        return head + line + tail
    # A line ends behind an item, not within its type.
    unbroken = [item.replace(" ", NO_BREAK) for item in items]
    width = WIDTH - margin - 4
    lines = wrap(", ".join(unbroken) + ",", width, break_long_words=False, break_on_hyphens=False)
    return NEWLINE.join((head, *(f"    {line.replace(NO_BREAK, ' ')}" for line in lines), tail))


def main(check: bool) -> int:
    """Write the module; with `check`, only compare. The exit code."""
    text = module()
    if check and (not MODULE.exists() or MODULE.read_text() != text):
        print("cfnode/sdk/methods.py differs from the calls; run python scripts/sdk_methods.py")
        return 1
    if not check:
        MODULE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
