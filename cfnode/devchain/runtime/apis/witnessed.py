"""`CustomRuntimeApi` methods for a block's witnessed deposits, broadcasts and screening events.

The main net's runtime reads from its elections what was witnessed; here the pallet `Dev` knows it. The
screening events are read from the block's events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, Never

from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import ChainInstance
from cfnode.devchain.runtime.frame import DispatchError, RuntimeApi, enum, method, struct
from cfnode.devchain.runtime.frame.calls import Arguments
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.pallets.addresses import encoded
from cfnode.devchain.runtime.pallets.broadcast.pallet import BROADCASTERS, EvmBroadcaster
from cfnode.devchain.runtime.pallets.ingress_egress.deposits import Details
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.pallets.witnesses import Witnesses
from cfnode.devchain.runtime.releases import Release, by_release
from cfnode.devchain.runtime.variants import classes_of

from .answers import Answer, or_message

__all__ = ["WitnessedApi"]

_API = "state_chain_runtime::runtime_apis::custom_api::types"
enum(
    f"{_API}::TransactionScreeningEvent<TxId, DepositDetails, Address>",
    "TransactionRejectionRequestReceived{account_id: AccountId32, tx_id: TxId}",
    "TransactionRejectionRequestExpired{account_id: AccountId32, tx_id: TxId}",
    "TransactionRejectedByBroker{refund_broadcast_id: u32, deposit_details: DepositDetails}",
    "ChannelRejectionRequestReceived{account_id: AccountId32, deposit_address: Address}",
)
struct(
    f"{_API}::DepositWitnessInfo",
    deposit_chain_block_height="u64",
    deposit_address="EncodedAddress",
    amount="u128",
    asset="Asset",
    deposit_details="ingress::DepositDetails",
)
struct(
    f"{_API}::VaultDepositWitnessInfo",
    tx_id="ingress::TransactionInId",
    deposit_chain_block_height="u64",
    input_asset="Asset",
    output_asset="Asset",
    amount="u128",
    destination_address="EncodedAddress",
    deposit_details="ingress::DepositDetails",
)
struct(
    f"{_API}::IngressEvents",
    deposits="Vec<DepositWitnessInfo>",
    vault_deposits="Vec<VaultDepositWitnessInfo>",
)


_FIRST_CHAINS = 7
"""Chains that `TransactionInId` had at first; its variants for later ones come after Solana's two."""


def _screened(release: Release) -> list[ChainInstance]:
    """Return the chains whose transactions brokers can report, in the order of the answer."""
    return [release.chains[name] for name in release.vault_swap_chains]


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    events = {
        f"{chain.module}_events": f"Vec<TransactionScreeningEvent<{chain.family.transaction_in},"
        f" {chain.family.deposit_details}, {chain.family.account}>>"
        for chain in _screened(release)
    }
    catalog.struct(f"{_API}::TransactionScreeningEvents", **events)
    chains = release.rules.witnessed_chains
    details = [f"{chain}({release.chains[chain].family.deposit_details})" for chain in chains]
    catalog.enum(f"{_API}::DepositDetails", *details, name="ingress::DepositDetails")
    catalog.enum(
        "cf_chains::TransactionInId",
        "Bitcoin(H256)",
        "Ethereum(H256)",
        "Arbitrum(H256)",
        "Tron(H256)",
        "Solana((Address, u64))",
        "SolanaDepositChannel(Address)",
        *(f"{name}(H256)" for name in list(release.chains)[_FIRST_CHAINS:]),
        name="ingress::TransactionInId",
    )


Screened = values.TransactionScreeningEvent[Never, Never, Never]
"""A screening event of any chain: the parameters are covariant, their values those of the chain's pallet."""
_RAW, _DETAILS_ON = classes_of("RawWitnessedEvents"), classes_of("ingress::DepositDetails")
_IDS_ON = classes_of("ingress::TransactionInId")
"""Variants by chain: the witnessed events, the details of a deposit, the hash of a transaction."""


def _details_on(chain: str, details: Details) -> values.IngressDepositDetails:
    if chain not in _DETAILS_ON:
        raise DispatchError("Unavailable")
    witnessed: values.IngressDepositDetails = _DETAILS_ON[chain](details)
    return witnessed


def _id_on(chain: str, transaction: object) -> values.IngressTransactionInId:
    if not isinstance(transaction, bytes):
        raise DispatchError("Unavailable")
    hashed: values.IngressTransactionInId = _IDS_ON[chain](transaction)
    return hashed


_NOT_WITNESSED: Final[tuple[Literal["Err"], tuple[str, bytes]]] = (
    "Err",
    ("RawMessage", b"Chain not supported for witnessed events"),
)


class WitnessedApi(RuntimeApi):
    """Deposits in the events of the block."""

    api = "CustomRuntimeApi"

    @method("TransactionScreeningEvents")
    def cf_transaction_screening_events(self) -> values.TransactionScreeningEvents:
        """Return what became of the deposits that brokers marked."""
        return values.TransactionScreeningEvents(
            **{
                f"{chain.module}_events": list(self._screened(chain.name))
                for chain in _screened(self.runtime.release)
            }
        )

    def _screened(self, chain: str) -> Iterator[Screened]:
        for name, fields in self._events(chain):
            match name:
                case "TransactionRejectionRequestReceived":
                    yield values.RejectionRequestReceived(
                        account_id=fields["account_id"], tx_id=fields["tx_id"]
                    )
                case "TransactionRejectionRequestExpired":
                    yield values.RejectionRequestExpired(
                        account_id=fields["account_id"], tx_id=fields["tx_id"]
                    )
                case "TransactionRejectedByBroker":
                    yield values.RejectedByBroker(
                        refund_broadcast_id=fields["broadcast_id"], deposit_details=fields["tx_id"]
                    )
                case "ChannelRejectionRequestReceived":
                    yield values.ChannelRejectionRequestReceived(**fields)

    @method("Result<IngressEvents, DispatchErrorWithMessage>", chain="ForeignChain")
    def cf_ingress_events(self, chain: str) -> Answer[values.IngressEvents]:
        """Return the deposits and vault swaps that were witnessed."""
        if chain not in self.runtime.release.rules.witnessed_chains:
            return _NOT_WITNESSED

        def answer() -> values.IngressEvents:
            return values.IngressEvents(
                deposits=list(self._deposits(chain)), vault_deposits=list(self._vault_deposits(chain))
            )

        return or_message(answer)

    @method("Result<RawWitnessedEvents, DispatchErrorWithMessage>", chain="ForeignChain")
    def cf_ingress_egress_events(self, chain: str) -> Answer[values.RawWitnessedEvents]:
        """Return the deposits and vault swaps that the authorities saw, and the transactions under way."""
        if chain not in self.runtime.release.rules.witnessed_chains:
            return _NOT_WITNESSED
        dev, instance = self.other(Witnesses), self.runtime.release.chains[chain]
        witnessed: dict[str, Any] = {
            "deposits": dev.deposits_now(chain),
            "broadcasts": list(self._broadcasts(chain)),
        }
        if instance.has_vault_swaps:
            witnessed["vault_deposits"] = [
                (height, values.EvmVaultContractEventVaultDeposit(deposit) if instance.is_evm else deposit)
                for height, deposit in dev.vault_deposits_now(chain)
            ]
        return "Ok", _RAW[chain](**witnessed)

    def _broadcasts(self, chain: str) -> Iterator[tuple[int, values.EvmKeyManagerEvent]]:
        """Yield the broadcasts that will be final with the next block, as (height, event).

        Only broadcasts to EVM chains have bytes, without which none can have been witnessed.
        """
        broadcaster = self.other(BROADCASTERS[chain])
        if isinstance(broadcaster, EvmBroadcaster) and not self.other(Witnesses).is_held(chain):
            height = broadcaster.tracking.height()
            for broadcast_id in broadcaster.on_their_way():
                confirmed = broadcaster.confirmation(broadcast_id)
                yield height, values.EvmKeyManagerEventSignatureAccepted(confirmed)

    def _deposits(self, chain: str) -> Iterator[values.DepositWitnessInfo]:
        pallet = self.other(INGRESS_EGRESS[chain])
        for height, deposit in self.other(Witnesses).deposits_now(chain):
            yield values.DepositWitnessInfo(
                deposit_chain_block_height=height,
                deposit_address=encoded(pallet, (CHAINS[chain].address, deposit.deposit_address)),
                amount=deposit.amount,
                asset=deposit.asset,
                deposit_details=_details_on(chain, deposit.deposit_details),
            )

    def _vault_deposits(self, chain: str) -> Iterator[values.VaultDepositWitnessInfo]:
        for height, deposit in self.other(Witnesses).vault_deposits_now(chain):
            yield values.VaultDepositWitnessInfo(
                tx_id=_id_on(chain, deposit.tx_id),
                deposit_chain_block_height=height,
                input_asset=deposit.input_asset,
                output_asset=deposit.output_asset,
                amount=deposit.deposit_amount,
                destination_address=deposit.destination_address,
                deposit_details=_details_on(chain, deposit.deposit_details),
            )

    def _events(self, chain: str) -> Iterator[tuple[str, Arguments]]:
        """Yield the block's events of a chain's ingress pallet: name and fields."""
        pallet = f"{chain}IngressEgress"
        for record in self.other(System).Events.get():
            owner, event = record.event
            if owner == pallet:
                yield event if isinstance(event, tuple) else (event, {})
