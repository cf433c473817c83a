"""Which broadcast is meant? By who is to be paid, or by the swap that should have paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfnode.cli.exits import ExitCode, Failure

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK
    from cfnode.sdk.recovery import Payload

__all__ = ["find"]


def find(sdk: SwapSDK, chain: str, owner: str, archive: str | None) -> int:
    """The broadcast id; Failure where there is none, or where a person has to choose."""
    from cfnode.sdk.recovery import FindCallsOf
    from cfnode.sdk.recovery.words import amount_text

    found = sdk.call(FindCallsOf(chain, owner, archive))
    if not found:
        raise Failure(
            f"no failed call on {chain} that can still be recovered pays {owner}: either nothing failed, "
            "or it is older than two epochs and has expired",
            ExitCode.NO_SUCH_CALL,
        )
    if len(found) > 1:
        listed = "; ".join(f"{each.broadcast_id} pays {amount_text(each)}{_to(each)}" for each in found)
        raise Failure(f"several failed calls fit, name one: {listed}", ExitCode.USAGE)
    return found[0].broadcast_id


def _to(payload: Payload) -> str:
    from cfnode.sdk.recovery.words import address_text

    return f" to {address_text(payload.chain, payload.transfer.recipient)}"
