"""Deposits into a channel of a development chain, as a user's wallet makes them on a real one."""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.sdk.assets import asset_named, wire_asset
from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.options import Session
from cfnode.sdk.record import Amount

__all__ = ["DevAnnounce", "DevDeposit"]


@dataclass(frozen=True)
class DevDeposit(Call[str]):
    """Pay into a channel of a development chain (`dev_deposit`); returns the hash of the deposit's block.

    `amount` is base units of the source asset (default: the channel's expected amount). A node of a real
    network lacks the method, which raises RpcCallError.
    """

    channel: DepositAddress
    amount: Amount | None = None

    def steps(self, session: Session) -> Steps[str]:
        return _paid(session, "dev_deposit", self.channel, self.amount)


@dataclass(frozen=True)
class DevAnnounce(Call[str]):
    """Announce an unconfirmed deposit, which may be boosted (`dev_announceDeposit`); return its block's hash.

    The boost needs a channel with a boost fee, and liquidity for it (`dev_setBoost`, `cfnode dev boost`);
    `dev_deposit` confirms the deposit afterwards. `amount` is base units of the source asset (default: the
    channel's expected amount). Raises RpcCallError without an open channel, and on a real network.
    """

    channel: DepositAddress
    amount: Amount | None = None

    def steps(self, session: Session) -> Steps[str]:
        return _paid(session, "dev_announceDeposit", self.channel, self.amount)


def _paid(session: Session, method: str, channel: DepositAddress, amount: int | None) -> Steps[str]:
    asset = asset_named(channel.src_chain, channel.src_asset, "channel.src")
    base_units = channel.amount if amount is None else amount
    params = [channel.deposit_address, wire_asset(asset), hex(base_units)]
    block: str = yield from rpc(session, session.rpc_url, method, params)
    return block
