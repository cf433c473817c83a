"""Funding of accounts at the start of a replay, and channels through which recorded swaps arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from cfnode.core import ss58
from cfnode.core.addresses.text import address_to_text, parse_address
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.foreign import whole_number
from cfnode.swaps.events import Name
from cfnode.testing.dev_calls import asset_json
from cfnode.testing.replay.dev_chain import AddedBlock, Stage
from cfnode.testing.replay.errors import ReplayError
from cfnode.testing.replay.records import RecordedSwap

__all__ = ["Channels", "deposit", "fund_account", "refusals_of"]

FUNDS_ATOMS = 1_000_000 * 10**18
"""Funds for transaction fees in atoms: enough for millions of orders."""
MAX_CREDIT_BLOCKS = 50
"""Maximum blocks until a deposit is credited: usually three."""
CHANNEL_USE_SLOTS = 7_200
"""Slots for which a channel is used: twelve hours; it expires after a day."""
BITCOIN = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
_LENGTHS = {"Solana": 32, "Assethub": 32, "Polkadot": 32}
"""Bytes of an account; 20 on the other chains."""


def fund_account(stage: Stage, funds: Mapping[str, int]) -> None:
    """Deposit base units by asset for the provider, as a user would; raise ReplayError.

    The chain's deposit fee is subtracted from each.
    """
    account = ss58.decode(stage.account)[1]
    chains = sorted({ASSETS[asset].chain for asset in funds})
    register = [
        partial(stage.chain.rpc, "lp_register_liquidity_refund_address", chain, _receiver(chain))
        for chain in chains
    ]
    gas = stage.dev_call("fund_account", account_id=account, amount=FUNDS_ATOMS)
    stage.add_block([gas], waiting=register)
    opening = [
        partial(stage.chain.rpc, "lp_request_liquidity_deposit_address_v2", asset_json(asset))
        for asset in funds
    ]
    opened = stage.add_block(waiting=opening).results
    addresses = [answer["response"]["deposit_address"] for answer in opened]
    deposits = [deposit(stage, *funding) for funding in zip(addresses, funds, funds.values(), strict=True)]
    block = stage.add_block(deposits)
    _ensure_taken(block)
    for _ in range(MAX_CREDIT_BLOCKS):
        balances = stage.provider.get_balances()
        if all(balances.get(asset) for asset in funds):
            return
        _ensure_taken(stage.add_block())
    lacking_assets = ", ".join(asset for asset in funds if not balances.get(asset))
    raise ReplayError(f"the deposits of {lacking_assets} were not credited in {MAX_CREDIT_BLOCKS} blocks")


def deposit(stage: Stage, address: str, asset: str, amount: int) -> str:
    """Return a transaction in which a deposit at an address is witnessed."""
    address_bytes = parse_address(ASSETS[asset].chain, address)
    fields = {"deposit_address": address_bytes, "asset": asset, "amount": amount, "transaction": None}
    return stage.dev_call("witness_deposit", **fields)


def refusals_of(block: AddedBlock) -> list[tuple[int, str]]:
    """Return the amount and the reason of each deposit that the chain refused in a block."""
    refusals = list[tuple[int, str]]()
    for event in block.events:
        if event["name"] == Name.DEPOSIT_FAILED:
            _, details = event["fields"]["details"]
            amount = details.get("deposit_witness", {}).get("amount", 0)
            reason = event["fields"]["reason"]
            number = whole_number(amount)
            refusals.append((number, reason if isinstance(reason, str) else reason[0]))
    return refusals


class Channels:
    """Deposit channels of the node's broker, one for each pair of assets, opened anew twice a day."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._open = dict[tuple[str, str], tuple[str, int]]()

    def missing(self, swaps: Iterable[RecordedSwap], slot: int) -> list[tuple[str, str]]:
        """Return the pairs of swaps in a slot that need a channel first."""
        pairs = {(swap.source, swap.destination): None for swap in swaps}
        return [pair for pair in pairs if self._expires(pair) <= slot]

    def opening(self, pairs: Iterable[tuple[str, str]]) -> list[Callable[[], Any]]:
        """Return the calls that open channels, for `Stage.add_block`."""
        return [partial(self._opened, *pair) for pair in pairs]

    def receive(self, pairs: Iterable[tuple[str, str]], results: Iterable[Any], slot: int) -> None:
        """Note the channels that a block in `slot` has opened."""
        for pair, result in zip(pairs, results, strict=True):
            self._open[pair] = (result["address"], slot)

    def sent(self, swap: RecordedSwap) -> str:
        """Return a transaction in which the swap's deposit is witnessed."""
        address, _ = self._open[swap.source, swap.destination]
        return deposit(self._stage, address, swap.source, swap.amount)

    def _expires(self, pair: tuple[str, str]) -> int:
        return self._open[pair][1] + CHANNEL_USE_SLOTS if pair in self._open else 0

    def _opened(self, source: str, destination: str) -> Any:
        receiver, refund = (_receiver(ASSETS[asset].chain) for asset in (destination, source))
        return self._stage.chain.broker.open_channel(source, destination, receiver, refund_address=refund)


def _receiver(chain: str) -> str:
    """Return an address on a chain, of no owner."""
    if chain == "Bitcoin":
        return BITCOIN
    return address_to_text((CHAINS[chain].address, b"\x07" * _LENGTHS.get(chain, 20)))


def _ensure_taken(block: AddedBlock) -> None:
    for amount, reason in refusals_of(block):
        raise ReplayError(f"the chain refused to fund the account with {amount} base units: {reason}")
