"""Operations of the node's broker: deposit channels, withdrawals, affiliates, registration.

Each operation is one call of the Swapping pallet, signed by the keystore's broker key; its result is read
from the event of the call (Chainflip's broker API). Values are those of the SCALE codec: assets by variant
name (`"ArbUsdc"`), addresses as (chain variant, bytes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.node.signing.account import SigningAccount
from cfnode.node.signing.outcome import EventError, Inclusion, SubmissionError
from cfnode.node.signing.submission import SubmittedCall
from cfnode.swaps.events import Name

Address = tuple[str, bytes]
"""An `EncodedAddress`: ("Eth", 20 bytes), ("Btc", the address text as bytes), …"""


FIRST_CHANNEL_CALL = "request_swap_deposit_address"
"""The call that opens a channel in releases without affiliates."""


@dataclass(frozen=True, slots=True)
class BrokerChannelRequest:
    """The parameters of a deposit channel.

    Commissions and boost fee in basis points; `refund_parameters`, `channel_metadata`, `affiliate_fees` and
    `dca_parameters` in the shape of the call's types.
    """

    source_asset: str
    destination_asset: str
    destination_address: Address
    broker_commission: int
    refund_parameters: dict[str, Any]
    channel_metadata: dict[str, Any] | None = None
    boost_fee: int = 0
    affiliate_fees: tuple[dict[str, Any], ...] = ()
    dca_parameters: dict[str, Any] | None = None

    @property
    def call(self) -> SubmittedCall:
        """The extrinsic's call."""
        return SubmittedCall(
            "Swapping",
            "request_swap_deposit_address_with_affiliates",
            {
                "source_asset": self.source_asset,
                "destination_asset": self.destination_asset,
                "destination_address": self.destination_address,
                "broker_commission": self.broker_commission,
                "channel_metadata": self.channel_metadata,
                "boost_fee": self.boost_fee,
                "affiliate_fees": list(self.affiliate_fees),
                "refund_parameters": self.refund_parameters,
                "dca_parameters": self.dca_parameters,
            },
        )

    @property
    def first_call(self) -> SubmittedCall:
        """The extrinsic's call in the first releases, which know no terms. Raises SubmissionError.

        Terms that such a runtime would not keep are refused, never dropped.
        """
        terms = {
            "refund_parameters.min_price": self.refund_parameters["min_price"],
            "boost_fee": self.boost_fee,
            "affiliate_fees": self.affiliate_fees,
            "dca_parameters": self.dca_parameters,
        }
        if unknown := next((name for name, value in terms.items() if value), None):
            raise SubmissionError(f"this runtime has no {unknown}: leave it out, or give 0")
        return SubmittedCall(
            "Swapping",
            FIRST_CHANNEL_CALL,
            {
                "source_asset": self.source_asset,
                "destination_asset": self.destination_asset,
                "destination_address": self.destination_address,
                "broker_commission_bps": self.broker_commission,
                "channel_metadata": self.channel_metadata,
            },
        )


@dataclass(frozen=True, slots=True)
class BrokerChannel:
    """An open channel. `issued_block`: a block number of this chain; the expiry: one of the source chain."""

    tx_hash: bytes
    address: Address
    issued_block: int
    channel_id: int
    source_chain_expiry_block: int
    channel_opening_fee: int
    refund_parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawal of fees. Amounts in the asset's smallest unit; `egress_id`: (chain, number)."""

    tx_hash: bytes
    egress_id: tuple[str, int]
    egress_amount: int
    egress_fee: int
    destination_address: Address


@dataclass(frozen=True, slots=True)
class Affiliate:
    """An affiliate of the broker: its account, and the number under which vault swaps name it."""

    account: bytes
    short_id: int


@dataclass(frozen=True, slots=True)
class AccountChannel:
    """A channel whose deposits fund an account that does not exist yet; fields as in DepositChannel."""

    address: Address
    issued_block: int
    channel_id: int
    requested_for: bytes
    deposit_chain_expiry_block: int
    channel_opening_fee: int
    refund_address: Address


class BrokerClient(SigningAccount):
    """The broker operations of one key."""

    async def register_account(self) -> bytes:
        """Make the account a broker; return the transaction's hash."""
        return (await self.included(SubmittedCall("Swapping", "register_as_broker"))).tx_hash

    async def request_swap_deposit_address(self, request: BrokerChannelRequest) -> BrokerChannel:
        """Open a deposit channel.

        Return with the block that includes the call if the channel was preallocated, else only with
        finality: until then, a fork could assign the address to another broker.
        """
        metadata = (await self._chain.runtime_at(self._chain.best.hash)).metadata
        call = request.call
        if not metadata.has_call(call.pallet, call.name) and metadata.has_call(
            call.pallet, FIRST_CHANNEL_CALL
        ):
            call = request.first_call
        return _channel(
            await self.opened(call, request.source_asset, ("Swapping", Name.SWAP_CHANNEL)), request
        )

    async def request_account_creation_deposit_address(
        self,
        signature_data: Any,
        transaction_metadata: dict[str, int],
        asset: str,
        boost_fee: int,
        refund_address: Address,
    ) -> AccountChannel:
        """Open a channel that creates an account, with its owner's signature.

        Return with the block that includes the call if the channel was preallocated, else only with finality.
        """
        fields = {
            "signature_data": signature_data,
            "transaction_metadata": transaction_metadata,
            "asset": asset,
            "boost_fee": boost_fee,
            "refund_address": refund_address,
        }
        call = SubmittedCall("Swapping", "request_account_creation_deposit_address", fields)
        return _account_channel(await self.opened(call, asset, ("Swapping", Name.ACCOUNT_CHANNEL)))

    async def withdraw_fees(self, asset: str, destination_address: Address) -> Withdrawal:
        """Send the fees earned in `asset` to an address on its chain.

        There is no dry run, as in the official node: a withdrawal that fails is included and pays its fee.
        """
        fields = {"asset": asset, "destination_address": destination_address}
        return _withdrawal(await self.included(SubmittedCall("Swapping", "withdraw", fields), dry_run=False))

    async def register_affiliate(self, withdrawal_address: bytes) -> bytes:
        """Register an affiliate that is paid to an Ethereum address (20 bytes); return its account."""
        fields = {"withdrawal_address": withdrawal_address}
        inclusion = await self.included(SubmittedCall("Swapping", "register_affiliate", fields))
        return bytes(inclusion.event("Swapping", "AffiliateRegistration")["affiliate_id"])

    async def deregister_affiliate(self, affiliate: bytes) -> Affiliate:
        """Remove an affiliate, whose fees must have been withdrawn."""
        fields = {"affiliate_account_id": affiliate}
        inclusion = await self.included(SubmittedCall("Swapping", "deregister_affiliate", fields))
        event = inclusion.event("Swapping", "AffiliateDeregistration")
        return Affiliate(event["affiliate_account_id"], event["short_id"])

    async def affiliate_withdrawal_request(self, affiliate: bytes) -> Withdrawal:
        """Pay an affiliate its earned fees, to the address that the affiliate was registered with."""
        fields = {"affiliate_account_id": affiliate}
        return _withdrawal(
            await self.included(SubmittedCall("Swapping", "affiliate_withdrawal_request", fields))
        )

    async def set_vault_swap_minimum_broker_fee(self, basis_points: int) -> bytes:
        """Set the minimum commission of vault swaps that name the broker; return the transaction's hash."""
        call = SubmittedCall(
            "Swapping", "set_vault_swap_minimum_broker_fee", {"minimum_fee_bps": basis_points}
        )
        return (await self.included(call)).tx_hash

    async def bind_fee_withdrawal_address(self, address: bytes) -> bytes:
        """Bind withdrawals on Ethereum to one address, permanently; return the final transaction's hash."""
        call = SubmittedCall("Swapping", "bind_broker_fee_withdrawal_address", {"address": address})
        return (await self.finalized(call)).tx_hash

    async def mark_transaction_for_rejection(self, chain: str, tx_id: Any) -> None:
        """Have a deposit to one of the broker's channels refunded.

        `tx_id`: in the form of the chain's pallet.
        """
        await self.included(
            SubmittedCall(f"{chain}IngressEgress", "mark_transaction_for_rejection", {"tx_id": tx_id})
        )

    async def mark_deposit_channel_for_rejection(self, chain: str, deposit_address: Any) -> None:
        """Have all deposits to a channel refunded (Solana, where deposits have no transaction id)."""
        fields = {"deposit_address": deposit_address}
        await self.included(
            SubmittedCall(f"{chain}IngressEgress", "mark_deposit_channel_for_rejection", fields)
        )

    async def open_private_btc_channel(self) -> int:
        """Open the broker's own Bitcoin channel (a bond is taken); return its id."""
        return await self._private_channel("open_private_btc_channel", Name.PRIVATE_CHANNEL)

    async def close_private_btc_channel(self) -> int:
        """Close the private Bitcoin channel (the bond is returned); return its id."""
        return await self._private_channel("close_private_btc_channel", "PrivateBrokerChannelClosed")

    async def _private_channel(self, call: str, event: str) -> int:
        inclusion = await self.included(SubmittedCall("Swapping", call))
        return int(inclusion.event("Swapping", event)["channel_id"])


def _withdrawal(inclusion: Inclusion) -> Withdrawal:
    event = inclusion.event("Swapping", "WithdrawalRequested")
    return Withdrawal(
        inclusion.tx_hash,
        event["egress_id"],
        event["egress_amount"],
        event["egress_fee"],
        event["destination_address"],
    )


def _account_channel(inclusion: Inclusion) -> AccountChannel:
    event = inclusion.event("Swapping", Name.ACCOUNT_CHANNEL)
    return AccountChannel(
        event["deposit_address"],
        inclusion.block.number,
        event["channel_id"],
        event["requested_for"],
        event["deposit_chain_expiry_block"],
        event["channel_opening_fee"],
        event["refund_address"],
    )


def _channel(inclusion: Inclusion, request: BrokerChannelRequest) -> BrokerChannel:
    event = inclusion.event("Swapping", Name.SWAP_CHANNEL)
    try:
        return BrokerChannel(
            inclusion.tx_hash,
            event["deposit_address"],
            inclusion.block.number,
            event["channel_id"],
            event["source_chain_expiry_block"],
            event.get("channel_opening_fee", 0),  # the first releases have no fee, and no refunds
            event.get("refund_parameters", request.refund_parameters),
        )
    except KeyError as error:
        raise EventError(f"Swapping.{Name.SWAP_CHANNEL}", f"it has no field {error}") from error
