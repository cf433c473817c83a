"""Which broadcast is meant? By who is to be paid, or by the swap that should have paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfnode.cli.exits import ExitCode, Failure

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK

__all__ = ["find"]


def find(sdk: SwapSDK, chain: str, owner: str) -> int:
    """The broadcast id; Failure where there is none, or where a person has to choose."""
    from cfnode.sdk.recovery import FindFailedCalls
    from cfnode.sdk.recovery.words import amount_text

    recipient, amount = _receiver(sdk, chain, owner)
    found = sdk.call(FindFailedCalls(chain, recipient))
    if amount is not None:
        found = tuple(each for each in found if each.transfer.amount == amount)
    if not found:
        raise Failure(
            f"no failed call on {chain} that can still be recovered pays {owner}: either nothing failed, "
            "or it is older than two epochs and has expired",
            ExitCode.NO_SUCH_CALL,
        )
    if len(found) > 1:
        listed = "; ".join(f"{each.broadcast_id} pays {amount_text(each)}" for each in found)
        raise Failure(f"several failed calls fit, name one: {listed}", ExitCode.USAGE)
    return found[0].broadcast_id


def _receiver(sdk: SwapSDK, chain: str, owner: str) -> tuple[bytes, int | None]:
    """The address to be paid and, of a swap, the amount that was sent out."""
    if account := _account(owner, chain):
        return account, None
    status = sdk.get_status_v2(owner)
    account = _account(status.dest_address or "", chain)
    if account is None or (status.dest_chain or "").lower() != chain:
        raise Failure(f"the swap {owner} does not pay out on {chain}", ExitCode.USAGE)
    return account, status.swap_egress.amount if status.swap_egress else None


def _account(text: str, chain: str) -> bytes | None:
    from cfnode.core.addresses import AddressError, parse_address

    if not text.startswith(("0x", "T")) or (text.startswith("0x") and len(text) != 42):
        return None
    try:
        return parse_address(chain.capitalize(), text)[1]
    except AddressError:
        return None
