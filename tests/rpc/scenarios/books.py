"""Two accounts of the same money, kept apart: that of the State Chain and that of the other chains.

Inside: storage items, read raw, of everything that the chain owes or keeps. Outside: what a test has
paid in, and what the transactions to the other chains pay out, read from their own bytes. A *sheet* says of
each party how much more or less of each asset it has than at the beginning; together they have nothing more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import decode

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale.metadata import Metadata
from cfnode.node.chain.chain import NodeChain
from cfnode.rpc.substrate.storage import keys_after

Sheet = dict[str, dict[str, int]]
"""By party and asset, in smallest units; nothing is zero."""
USER, LENDER, STUCK = "user", "lender", "stuck in the vault"
GAS, NETWORK, POOLS, SWAPS, OUTBOX = "gas", "network", "pools", "swaps", "outbox"
GATEWAY = "gateway"
"""Its contract holds what accounts have as FLIP on the State Chain, or is to be sent it."""
NATIVE = bytes.fromhex("ee" * 20)
_SIGNED = "(uint256,uint256,address)"
_BATCH = [_SIGNED, "(bytes32,address)[]", "(address,address)[]", "(address,address,uint256)[]"]
_MESSAGE = [_SIGNED, "(address,address,uint256)", "uint32", "bytes", "bytes"]
_FALLBACK = [_SIGNED, "(address,address,uint256)"]
Transfer = tuple[str, str, int]
"""Receiver, asset, amount."""


class Accounts(defaultdict[str, "Counter[str]"]):
    """Amounts by party and asset."""

    def __init__(self) -> None:
        super().__init__(Counter)

    def add(self, party: str, asset: str, amount: int) -> None:
        """Add an amount to a party's balance."""
        self[party][asset] += amount


def changes(after: Accounts, before: Accounts) -> Sheet:
    """Return the entries that differ."""
    sheet: Sheet = {}
    for party in {*after, *before}:
        now, then = after[party], before[party]
        moved = {asset: now[asset] - then[asset] for asset in {*now, *then}}
        if kept := {asset: amount for asset, amount in moved.items() if amount}:
            sheet[party] = kept
    return sheet


def sums(sheet: Sheet) -> dict[str, int]:
    """Return the sum of all parties, by asset: of a sheet that is right, nothing."""
    total = Counter[str]()
    for amounts in sheet.values():
        total.update(amounts)
    return {asset: amount for asset, amount in total.items() if amount}


class Stored:
    """The storage of one block, by the names of its metadata."""

    def __init__(self, chain: NodeChain, metadata: Metadata, block: bytes) -> None:
        self._chain, self._metadata, self._block = chain, metadata, block

    def value(self, pallet: str, item: str, *keys: Any) -> Any:
        """Return a value; the default where nothing is stored."""
        storage = self._metadata.storage(pallet, item)
        with self._chain.state(self._block) as state:
            return storage.decode(state.get(storage.key(*keys)))

    def items(self, pallet: str, item: str) -> Iterator[tuple[Any, ...]]:
        """Yield (key, …, value) of a map."""
        storage = self._metadata.storage(pallet, item)
        with self._chain.state(self._block) as state:
            entries = [(key, state.get(key)) for key in keys_after(state, storage.key(), None)]
        for key, data in entries:
            yield *storage.decode_key(key), storage.decode(data)


# Inside


def inside(stored: Stored, names: dict[bytes, str]) -> Accounts:
    """Return the amounts in the State Chain by owner; `names` are those of accounts."""
    accounts = Accounts()
    for who, asset, amount in stored.items("AssetBalances", "FreeBalances"):
        accounts.add(names.get(who, who.hex()), asset, amount)
    for asset, amount in stored.items("AssetBalances", "WithheldAssets"):
        accounts.add(GAS, asset, amount)
    for asset, amount in stored.items("Swapping", "CollectedRejectedFunds"):
        accounts.add(NETWORK, asset, amount)
    accounts.add(NETWORK, "Usdc", stored.value("Swapping", "CollectedNetworkFee"))
    accounts.add(NETWORK, "Flip", stored.value("Swapping", "FlipToBurn"))
    accounts.add(GATEWAY, "Flip", stored.value("Swapping", "FlipToBeSentToGateway"))
    _add_swaps(accounts, stored)
    for asset, ranges in pools_of(stored).items():
        for side, name in (("base", asset), ("quote", "Usdc")):
            put_in = ranges["total_swap_inputs"][side] + ranges["total_fees_earned"][side]
            accounts.add(POOLS, name, put_in - ranges["total_swap_outputs"][side])
    for chain in CHAINS.values():
        if chain.since == "2.2":
            _add_outbox(accounts, stored, f"{chain.name}IngressEgress")
    return accounts


def pools_of(stored: Stored) -> dict[str, Any]:
    """Return the range orders of each asset's pool."""
    return {
        pair["assets"]["base"]: pool["pool_state"]["range_orders"]
        for pair, pool in stored.items("LiquidityPools", "Pools")
    }


def _add_swaps(accounts: Accounts, stored: Stored) -> None:
    for _, swap in stored.value("Swapping", "ScheduledSwaps"):
        accounts.add(SWAPS, swap["from"], swap["input_amount"])
    for _, request in stored.items("Swapping", "SwapRequests"):
        if isinstance(request["state"], tuple):
            chunks = request["state"][1]["dca_state"]
            accounts.add(SWAPS, request["input_asset"], chunks["remaining_input_amount"])
            accounts.add(SWAPS, request["output_asset"], chunks["accumulated_output_amount"])


def _add_outbox(accounts: Accounts, stored: Stored, pallet: str) -> None:
    for kind, what in stored.value(pallet, "ScheduledEgressFetchOrTransfer"):
        if kind == "Transfer":
            accounts.add(OUTBOX, what["asset"], what["amount"])
    for what in stored.value(pallet, "ScheduledEgressCcm"):
        accounts.add(OUTBOX, what["asset"], what["amount"])


# Outside


@dataclass
class Outside:
    """The other chains: what was paid in, and what transactions have paid out there."""

    tokens: dict[str, dict[bytes, str]]
    failing: set[tuple[str, str]] = field(default_factory=set)
    accounts: Accounts = field(default_factory=Accounts)
    _sent: dict[tuple[str, int], list[Transfer]] = field(default_factory=dict)
    _requests: dict[int, Any] = field(default_factory=dict)
    _egresses: dict[tuple[str, int], Transfer] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Stored) -> Outside:
        """Return the outside with the token contracts of the EVM chains."""
        tokens = {}
        for chain in ("Ethereum", "Arbitrum", "Tron"):
            known = stored.items("Environment", f"{chain}SupportedAssets")
            native = next(
                asset.name for asset in ASSETS.values() if (asset.chain, asset.chain_index) == (chain, 0)
            )
            tokens[chain] = {NATIVE: native} | {token: asset for asset, token in known}
        return cls(tokens)

    def receive(self, name: str, fields: Any) -> None:
        """Receive an event of the chain's."""
        pallet, _, event = name.partition(".")
        chain = pallet.removesuffix("Broadcaster").removesuffix("IngressEgress")
        match event:
            case "SwapRequested":
                self._requests[fields["swap_request_id"]] = fields
            case "SwapEgressScheduled":
                self._note_egress(fields)
            case "BatchBroadcastRequested" if chain == "Bitcoin":
                # Its transactions have no bytes here: the numbers of its transfers say what is in them.
                transfers = [self._egresses.pop(egress_id) for egress_id in fields["egress_ids"]]
                self._sent[chain, fields["broadcast_id"]] = transfers
            case "TransactionBroadcastRequest" if chain in self.tokens:
                data = fields["transaction_payload"]["data"]
                self._sent[chain, fields["broadcast_id"]] = self.transfers(chain, data)
            case "BroadcastSuccess":
                self._arrive(self._sent.pop((chain, fields["broadcast_id"])))

    def now(self) -> Accounts:
        """Return everything, what never arrived too."""
        accounts = Accounts()
        for party, amounts in self.accounts.items():
            accounts[party].update(amounts)
        for transfers in self._sent.values():
            for _, asset, amount in transfers:
                accounts.add(STUCK, asset, amount)
        return accounts

    def transfers(self, chain: str, data: bytes) -> list[Transfer]:
        """Return the payments of a call of a chain's vault."""
        selector, arguments = data[:4].hex(), data[4:]
        if selector == "5f8c0f9a":  # allBatch
            transfers = decode(_BATCH, arguments)[3]
        else:  # executexSwapAndCall, transferFallback
            transfers = [decode(_MESSAGE if selector == "5293178e" else _FALLBACK, arguments)[1]]
        return [
            (address_text(chain, to), self.tokens[chain][bytes.fromhex(token[2:])], amount)
            for token, to, amount in transfers
        ]

    def _note_egress(self, fields: Any) -> None:
        if fields["egress_id"][0] == "Bitcoin":
            (_, action) = self._requests[fields["swap_request_id"]]["request_type"]
            to = address_to_text(action["output_action"][1]["output_address"])
            self._egresses[fields["egress_id"]] = (to, fields["asset"], fields["amount"])

    def _arrive(self, transfers: list[Transfer]) -> None:
        for to, asset, amount in transfers:
            self.accounts.add(STUCK if (to, asset) in self.failing else to, asset, amount)


def address_text(chain: str, address: str) -> str:
    """Return an EVM chain's address, given as Ethereum writes it."""
    return address_to_text((CHAINS[chain].address, bytes.fromhex(address[2:])))
