"""Payments on a development chain, to a channel or the vault, as a user's wallet makes them on a real one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from cfnode.sdk.amounts import Quantity, base_units
from cfnode.sdk.assets import asset_named, wire_asset
from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.models.vault_swap import VaultSwapData
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import Record
from cfnode.swaps.events import transaction_text

__all__ = ["DevAnnounce", "DevDeposit", "DevSendToVault"]

_TRANSACTION_BYTES = 32


@dataclass(frozen=True)
class DevDeposit(Call[str]):
    """Pay into a channel of a development chain (`dev_deposit`); returns the hash of the deposit's block.

    `amount` is text or a Decimal in whole units, or an int of base units (default: the channel's expected
    amount). A node of a real network lacks the method, which raises RpcCallError.
    """

    channel: DepositAddress
    amount: Quantity | None = None

    def steps(self, session: ClientSession) -> Steps[str]:
        """Call `dev_deposit`; return the hash of the block."""
        return _paid(session, "dev_deposit", self.channel, self.amount)


@dataclass(frozen=True)
class DevAnnounce(Call[str]):
    """Announce an unconfirmed deposit, which may be boosted (`dev_announceDeposit`); return its block's hash.

    The boost needs a channel with a boost fee, and liquidity for it (`dev_setBoost`, `cfnode dev boost`);
    `dev_deposit`, which takes the same `amount`, confirms the deposit afterwards. Raises RpcCallError without
    an open channel, and on a real network.
    """

    channel: DepositAddress
    amount: Quantity | None = None

    def steps(self, session: ClientSession) -> Steps[str]:
        """Call `dev_announceDeposit`; return the hash of the block."""
        return _paid(session, "dev_announceDeposit", self.channel, self.amount)


@dataclass(frozen=True)
class DevSendToVault(Call[str]):
    """Send a vault swap of `encode_vault_swap_data` on a development chain; return the transaction.

    `watch_status` follows the swap by this transaction; one from Solana only by the swap's number. From
    Bitcoin, `amount` (text or a Decimal in whole units, or an int of base units) is what the transaction
    pays, and `refund_address` gets a refund; the transactions of other chains contain both. Raises
    RpcCallError if the vault refuses the transaction, and on a real network.
    """

    vault_swap: VaultSwapData
    amount: Quantity | None = None
    refund_address: str | None = None

    def steps(self, session: ClientSession) -> Steps[str]:
        """Call `dev_sendToVault` with a random transaction; return its hash as explorers write it."""
        transaction = session.random_bytes(_TRANSACTION_BYTES)
        paid = None if self.amount is None else hex(base_units(self.amount, "BTC"))
        params = [_snake(self.vault_swap), paid, self.refund_address, "0x" + transaction.hex()]
        yield from rpc(session, session.rpc_url, "dev_sendToVault", params)
        return str(transaction_text(self.vault_swap.chain, transaction))


def _snake(value: Any) -> Any:
    """Return a record in the format of the node: Python's names, amounts in hex."""
    if isinstance(value, Record):
        return {field.name: _snake(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_snake(element) for element in value]
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _paid(
    session: ClientSession, method: str, channel: DepositAddress, amount: Quantity | None
) -> Steps[str]:
    asset = asset_named(channel.src_chain, channel.src_asset, "channel.src")
    paid = channel.amount if amount is None else base_units(amount, asset)
    params = [channel.deposit_address, wire_asset(asset), hex(paid)]
    block: str = yield from rpc(session, session.rpc_url, method, params)
    return block
