"""Deposits, vault swaps and transactions that the development chain witnesses on the other chains.

On the main net the authorities vote on what they see on the other chains, and the elections deliver it at the
end of a block, before swaps run and transfers are sent. Here a test says what was seen, and this pallet hands
it over at the same point of the block. A transaction is on its chain one block after it was asked for, unless
a test holds the chain's transactions back or wants one to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cfnode.core.addresses import (
    AddressError,
    EncodedAddress,
    ForeignAddress,
    chain_of_address,
    foreign_address,
)
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.hashing import blake2_256
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import OptionalMap, PalletStorage, Value, enum, struct
from cfnode.devchain.runtime.frame.item import Decoder
from cfnode.devchain.runtime.frame.stored import StoredValue

from .addresses import network_of
from .broadcast.pallet import BROADCASTERS, EvmBroadcaster
from .environment_storage import EnvironmentStorage
from .ingress_egress.boost_delay import admit_prewitnessed
from .ingress_egress.delay import admit_deposit, admit_vault_deposit
from .ingress_egress.deposits import Account, Details, deposit_on
from .ingress_egress.fallback import broadcast_succeeded, transfer_failed
from .ingress_egress.storage import INGRESS_EGRESS, IngressEgressStorage
from .ingress_egress.vault_deposits import prewitness_vault_deposit
from .system import System

__all__ = ["Witnesses", "deposit_details"]

enum("cfnode_dev::Witnessed", "Deposit(Bytes)", "VaultDeposit(Bytes)")
struct(
    "cfnode_dev::Sighting",
    deposit_address="EncodedAddress",
    asset="Asset",
    amount="u128",
    transaction="H256",
    is_final="bool",
)


T = TypeVar("T")
Kept = values.WitnessedDeposit | values.WitnessedVaultDeposit
_WITNESSED: dict[str, type[Kept]] = {
    "Deposit": values.WitnessedDeposit,
    "VaultDeposit": values.WitnessedVaultDeposit,
}


class Witnesses(PalletStorage):
    """The part of `Dev` with what was seen and not yet handed over."""

    Seen = Value[Sequence[values.Sighting]]("Vec<Sighting>")
    VaultSwapsSeen = Value[Sequence[tuple[str, bytes, bool]]]("Vec<(ForeignChain, Bytes, bool)>")
    WitnessedNow = Value[Sequence[tuple[str, int, values.Witnessed]]]("Vec<(ForeignChain, u64, Witnessed)>")
    InFlight = Value[Sequence[tuple[str, int]]]("Vec<(ForeignChain, u32)>")
    FailingReceivers = OptionalMap[tuple[str, ForeignAddress], tuple[()]](
        "Blake2_128Concat", "(Asset, ForeignChainAddress)", "()"
    )
    AbortNext = OptionalMap[str, tuple[()]]("Twox64Concat", "ForeignChain", "()")
    HeldChains = OptionalMap[str, tuple[()]]("Twox64Concat", "ForeignChain", "()")
    SeenCounter = Value[int]("u64")

    def deliver(self) -> None:
        """Hand over what was seen in this block, and let transactions reach their chains."""
        self.WitnessedNow.kill()
        held_broadcasts = []
        for chain, broadcast_id in self.InFlight.take():
            if self.is_held(chain):
                held_broadcasts.append((chain, broadcast_id))
            else:
                self._land(self.other(INGRESS_EGRESS[chain]), broadcast_id)
        for sighting in self._due(self.Seen, "deposit_channel", lambda sighted: ASSETS[sighted.asset].chain):
            self._deliver(sighting)
        for seen in self._due(self.VaultSwapsSeen, "vault_deposit", lambda entry: entry[0]):
            self._deliver_vault_swap(*seen)
        sent = [
            (chain, broadcast_id)
            for chain in self.runtime.release.chains
            for broadcast_id in self.other(BROADCASTERS[chain]).on_their_way()
        ]
        if held_broadcasts or sent:
            self.InFlight.put(list(dict.fromkeys([*held_broadcasts, *sent])))

    def _due(
        self, queue: StoredValue[Sequence[T], Sequence[T]], kind: str, chain_of: Callable[[T], str]
    ) -> Sequence[T]:
        """Return a queue's entries of chains whose witnessing is enabled; the others stay in the queue."""
        seen, environment = queue.take(), self.other(EnvironmentStorage)
        due, held_back = list[T](), list[T]()
        for witness in seen:
            member = f"ingress_egress_{chain_of(witness).lower()}"
            is_enabled = environment.safe_mode(member, f"{kind}_witnessing_enabled")
            (due if is_enabled else held_back).append(witness)
        if held_back:
            queue.put(held_back)
        return due

    def is_held(self, chain: str) -> bool:
        """Return whether no transaction on a chain is witnessed: a test holds them, or safe mode stops it."""
        member = f"broadcast_{chain.lower()}"
        is_enabled = self.other(EnvironmentStorage).safe_mode(member, "egress_witnessing_enabled")
        return self.HeldChains.contains(chain) or not is_enabled

    def see_deposit(
        self,
        address: EncodedAddress,
        asset: str,
        amount: int,
        transaction: bytes | None,
        *,
        final: bool = True,
    ) -> None:
        """Queue a deposit of an asset at an address, to be handed over at the end of this block.

        A deposit that is not `final` has been seen, but not yet confirmed.
        """
        sighting = values.Sighting(
            deposit_address=address,
            asset=asset,
            amount=amount,
            transaction=transaction or self.made_up_transaction(),
            is_final=final,
        )
        self.Seen.mutate(lambda seen: [*seen, sighting])

    def see_vault_swap(self, chain: str, witness: values.VaultDepositWitness, *, final: bool = True) -> None:
        """Queue a vault swap of a chain, to be handed over at the end of this block."""
        seen = (chain, self.codec(f"VaultDepositWitness{chain}").encode(witness), final)
        self.VaultSwapsSeen.mutate(lambda known: [*known, seen])

    def made_up_transaction(self) -> bytes:
        """Return the hash of a made-up transaction, another one each time."""
        count = self.SeenCounter.mutate(lambda seen: seen + 1)
        return blake2_256(b"cfnode-dev/deposit" + count.to_bytes(8, "little"))

    def account_at(self, address: EncodedAddress, asset: str) -> Account | None:
        """Return an address as its chain's own account; None if malformed or not of the asset's chain."""
        try:
            foreign = foreign_address(address, network_of(self))
        except AddressError:
            return None
        return foreign[1] if chain_of_address(foreign) == ASSETS[asset].chain else None

    def _land(self, pallet: IngressEgressStorage, broadcast_id: int) -> None:
        """Let a transaction that was asked for in an earlier block reach its chain, or fail.

        A transaction that was given up while a test held it back arrives, too.
        """
        broadcaster = self.other(BROADCASTERS[pallet.chain.name])
        if not broadcaster.is_known(broadcast_id):
            return
        failing = _failing_transfers(self, pallet, broadcast_id)
        message = pallet.BroadcastActions.get(broadcast_id) == "CcmBroadcast"
        is_pending = broadcast_id in broadcaster.PendingBroadcasts.get()
        if self.AbortNext.contains(pallet.chain.name) or (message and failing):
            self.AbortNext.remove(pallet.chain.name)
            if is_pending:
                broadcaster.abort(broadcast_id)
            return
        broadcast_succeeded(pallet, broadcast_id)
        for asset, amount, destination in failing:
            if not (pallet.chain.hides_failed_coins and asset == pallet.gas_asset):
                transfer_failed(pallet, asset, amount, destination)

    def _deliver(self, sighting: values.Sighting) -> None:
        asset = sighting.asset
        pallet = self.other(INGRESS_EGRESS[ASSETS[asset].chain])
        account = self.account_at(sighting.deposit_address, asset)
        assert account is not None  # `Dev` has refused others
        channel = pallet.DepositChannelLookup.get(account)
        witness = values.DepositWitness(
            deposit_address=account,
            asset=asset,
            amount=sighting.amount,
            deposit_details=deposit_details(pallet, channel, sighting),
        )
        height = pallet.tracking.height()
        height = max(height, channel.opened_at) if channel else height
        if channel is not None:
            self._note(pallet, height, "Deposit", witness)
        if sighting.is_final:
            admit_deposit(pallet, witness, height)
        elif channel is not None:
            admit_prewitnessed(pallet, deposit_on(pallet, channel, witness, height))

    def _deliver_vault_swap(self, chain: str, encoded: bytes, final: bool) -> None:
        pallet = self.other(INGRESS_EGRESS[chain])
        witness: values.VaultDepositWitness = self.codec(f"VaultDepositWitness{chain}").decode(encoded)
        # On Solana the account that holds the swap says since when.
        height = witness.tx_id[1] if isinstance(witness.tx_id, tuple) else pallet.tracking.height()
        self._note(pallet, height, "VaultDeposit", witness)
        (admit_vault_deposit if final else prewitness_vault_deposit)(pallet, witness, height)

    def _note(
        self,
        pallet: IngressEgressStorage,
        height: int,
        kind: str,
        witness: values.DepositWitness | values.VaultDepositWitness,
    ) -> None:
        """Keep what was seen for queries in this block."""
        chain = pallet.chain.name
        encoded = self.codec(f"{kind}Witness{chain}").encode(witness)
        self.WitnessedNow.mutate(lambda seen: [*seen, (chain, height, _WITNESSED[kind](encoded))])

    def deposits_now(self, chain: str) -> list[tuple[int, values.DepositWitness]]:
        """Return the deposits of this block on a chain, with heights."""
        return self._witnessed_now(self.codec(f"DepositWitness{chain}"), chain, values.WitnessedDeposit)

    def vault_deposits_now(self, chain: str) -> list[tuple[int, values.VaultDepositWitness]]:
        """Return the vault swaps of this block on a chain, with heights."""
        codec = self.codec(f"VaultDepositWitness{chain}")
        return self._witnessed_now(codec, chain, values.WitnessedVaultDeposit)

    def _witnessed_now(self, decoder: Decoder[T], chain: str, kind: type[Kept]) -> list[tuple[int, T]]:
        return [
            (height, decoder.decode(seen.value))
            for witnessed_chain, height, seen in self.WitnessedNow.get()
            if witnessed_chain == chain and isinstance(seen, kind)
        ]


def _failing_transfers(
    witnesses: Witnesses, pallet: IngressEgressStorage, broadcast_id: int
) -> list[tuple[str, int, bytes]]:
    """Return the transfers of a transaction whose receivers do not take them: asset, amount, receiver."""
    broadcaster = witnesses.other(BROADCASTERS[pallet.chain.name])
    if not isinstance(broadcaster, EvmBroadcaster):
        return []
    call = broadcaster.PendingApiCalls.known(broadcast_id).value.call
    assets = {
        witnesses.other(EnvironmentStorage).token_address(pallet.chain.name, asset.name): asset.name
        for asset in pallet.runtime.release.assets_of(pallet.chain.name)
    }
    failing = []
    for transfer in _transfers_of(call):
        asset = assets[transfer.asset]
        if witnesses.FailingReceivers.contains((asset, (CHAINS[pallet.chain.name].address, transfer.to))):
            failing.append((asset, transfer.amount, transfer.to))
    return failing


def _transfers_of(call: object) -> Sequence[values.EncodableTransferAssetParams]:
    """Return the transfers of a call; a redemption has none."""
    match call:
        case values.AllBatch(transfer_params=transfers):
            return transfers
        case values.ExecutexSwapAndCall(transfer_param=transfer) | values.TransferFallback(transfer):
            return [transfer]
    return []


def deposit_details(
    pallet: IngressEgressStorage, channel: values.DepositChannelDetails | None, sighting: values.Sighting
) -> Details:
    """Return how a chain identifies the transaction of a deposit."""
    transaction = sighting.transaction
    if pallet.chain.is_evm:
        return values.EvmDepositDetails([transaction])
    if pallet.chain.family.deposit_details == "Utxo":
        state = channel.deposit_channel.state if channel else None
        if not isinstance(state, values.DepositAddress):
            state = values.DepositAddress(pubkey_x=bytes(32), script_path=None)
        output = values.UtxoId(tx_id=transaction, vout=0)
        return values.Utxo(id=output, amount=sighting.amount, deposit_address=state)
    if pallet.chain.family.deposit_details == "VaultSwapOrDepositChannelId":
        address = channel.deposit_channel.address if channel else pallet.other(System).ParentHash.get()
        assert isinstance(address, bytes)
        return values.SolanaDepositChannel(address)
    if pallet.chain.family.deposit_details == "TxId":
        return values.TxId(block_number=pallet.tracking.height(), extrinsic_index=0)
    return 0
