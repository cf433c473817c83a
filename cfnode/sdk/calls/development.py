"""Deposit into a channel of a development chain, as a user's wallet makes it on a real one."""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.sdk.assets import asset_named, wire_asset
from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.options import Session
from cfnode.sdk.record import Amount

__all__ = ["DevDeposit"]


@dataclass(frozen=True)
class DevDeposit(Call[str]):
    """Pay into a channel of a development chain (`dev_deposit`); returns the hash of the deposit's block.

    `amount` is base units of the source asset (default: the channel's expected amount). A node of a real
    network lacks the method, which raises RpcCallError.
    """

    channel: DepositAddress
    amount: Amount | None = None

    def steps(self, session: Session) -> Steps[str]:
        channel = self.channel
        asset = asset_named(channel.src_chain, channel.src_asset, "channel.src")
        amount = channel.amount if self.amount is None else self.amount
        params = [channel.deposit_address, wire_asset(asset), hex(amount)]
        block: str = yield from rpc(session, session.rpc_url, "dev_deposit", params)
        return block
