"""What does the development chain see on the other chains?

On the main net the authorities vote on what they see there, and the elections deliver it at the end of a
block, before swaps run and transfers are sent. Here a test says what was seen, and this pallet hands it over
at the same point of the block.
"""

from __future__ import annotations

from typing import Any

from cfnode.core.addresses import NETWORKS, AddressError, EncodedAddress, chain_of_address, foreign_address
from cfnode.core.assets import ASSETS
from cfnode.core.hashing import blake2_256
from cfnode.runtime.dev.frame import Pallet, Value, struct

from .environment import Environment
from .ingress_egress.deposits import process_deposit
from .ingress_egress.pallet import INGRESS_EGRESS, IngressEgress
from .system import System

__all__ = ["Sightings", "deposit_details"]

struct(
    "cfnode_dev::Sighting",
    deposit_address="EncodedAddress",
    asset="Asset",
    amount="u128",
    transaction="H256",
)


class Sightings(Pallet):
    """Base of the `Dev` pallet: what was seen and not yet handed over."""

    Seen = Value("Vec<Sighting>")
    SeenCounter = Value("u64")

    def on_finalize(self, number: int) -> None:
        for sighting in self.Seen.take():
            self._deliver(sighting)

    def see_deposit(
        self, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None
    ) -> None:
        """A deposit of an asset at an address: handed over at the end of this block."""
        count = self.SeenCounter.mutate(lambda seen: seen + 1)
        made_up = blake2_256(b"cfnode-dev/deposit" + count.to_bytes(8, "little"))
        sighting = {
            "deposit_address": address,
            "asset": asset,
            "amount": amount,
            "transaction": transaction or made_up,
        }
        self.Seen.mutate(lambda seen: [*seen, sighting])

    def account_at(self, address: EncodedAddress, asset: str) -> Any:
        """An address as its chain's own account, None if it is none of the asset's chain."""
        network = NETWORKS[self.other(Environment).ChainflipNetworkEnvironment.get()]
        try:
            found = foreign_address(address, network)
        except AddressError:
            return None
        return found[1] if chain_of_address(found) == ASSETS[asset].chain else None

    def _deliver(self, sighting: dict[str, Any]) -> None:
        asset = sighting["asset"]
        pallet = self.other(INGRESS_EGRESS[ASSETS[asset].chain])
        account = self.account_at(sighting["deposit_address"], asset)
        channel = pallet.DepositChannelLookup.get(account)
        witness = {
            "deposit_address": account,
            "asset": asset,
            "amount": sighting["amount"],
            "deposit_details": deposit_details(pallet, channel, sighting),
        }
        height = pallet.tracking.height()
        process_deposit(pallet, witness, max(height, channel["opened_at"]) if channel else height)


def deposit_details(pallet: IngressEgress, channel: Any, sighting: dict[str, Any]) -> Any:
    """How a chain identifies the transaction of a deposit."""
    transaction = sighting["transaction"]
    if pallet.chain.is_evm:
        return {"tx_hashes": [transaction]}
    if pallet.chain.name == "Bitcoin":
        key = bytes(32)
        state = channel["deposit_channel"]["state"] if channel else {"pubkey_x": key, "script_path": None}
        output = {"tx_id": transaction, "vout": 0}
        return {"id": output, "amount": sighting["amount"], "deposit_address": state}
    if pallet.chain.name == "Solana":
        return "Channel", pallet.other(System).ParentHash.get() if channel is None else _address(channel)
    return 0


def _address(channel: dict[str, Any]) -> bytes:
    address: bytes = channel["deposit_channel"]["address"]
    return address
