"""A day of a broker's business on a development chain: everything that the books should have."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfnode.testing import DevChain, dev_calls

__all__ = ["BTC_ADDRESS", "EVM_ADDRESS", "Day", "play"]

EVM_ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BTC_ADDRESS = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
ETHER, BITCOIN = 10**18, 10**8
IMPOSSIBLE = hex(2**200)
"""A minimum price that no pool gives."""


@dataclass(frozen=True, slots=True)
class Day:
    """A node after the day: its address, its finalized block, the accounts, and the first books of it.

    The books are a file of SQLite (True) and the name of a database of PostgreSQL (False).
    """

    url: str
    chain: DevChain
    head: int
    broker: str
    affiliate: str
    books: dict[bool, Path] = field(default_factory=dict)


def play(url: str, chain: DevChain) -> Day:
    """Play the day, and finalize it."""
    chain.do(dev_calls.first_block())
    chain.broker.register()
    broker = next(row["account_id"] for row in _accounts(chain) if row["role"] == "broker")
    affiliate = chain.rpc("broker_register_affiliate", EVM_ADDRESS)
    _swap(chain, "Eth", "Btc", 2 * ETHER, commission_bps=30)
    _swap(chain, "Eth", "Btc", ETHER, commission_bps=10, affiliate_fees=[{"account": affiliate, "bps": 25}])
    _swap(
        chain, "Eth", "Btc", 9 * ETHER, dca_parameters={"number_of_chunks": 3, "chunk_interval": 2}, blocks=14
    )
    refund = {"retry_duration": 5, "min_price": IMPOSSIBLE, "refund_address": EVM_ADDRESS}
    _swap(chain, "Eth", "Btc", ETHER, refund_parameters=refund, blocks=14)
    _boost(chain)
    _fail(chain)
    chain.rpc("broker_withdraw_fees", {"chain": "Ethereum", "asset": "USDC"}, EVM_ADDRESS)
    chain.rpc("broker_affiliate_withdrawal_request", affiliate)
    _swap(chain, "Eth", "Usdc", ETHER, commission_bps=20)
    chain.new_block(6)
    chain.finalize()
    head = int(chain.rpc("chain_getHeader", chain.rpc("chain_getFinalizedHead"))["number"], 16)
    return Day(url, chain, head, broker, affiliate)


def _accounts(chain: DevChain) -> list[dict[str, Any]]:
    account_infos: list[dict[str, Any]] = chain.rpc("cf_all_account_infos", ["Broker"])
    return account_infos


def _swap(chain: DevChain, source: str, target: str, amount: int, blocks: int = 6, **terms: Any) -> None:
    """Make a swap from the channel to its end."""
    to = BTC_ADDRESS if target == "Btc" else EVM_ADDRESS
    back = BTC_ADDRESS if source == "Btc" else EVM_ADDRESS
    channel = chain.broker.open_channel(source, target, to, refund_address=back, **terms)
    chain.deposit(channel["address"], source, amount)
    chain.new_block(blocks)


def _boost(chain: DevChain) -> None:
    chain.rpc("dev_setBoost", {"chain": "Bitcoin", "asset": "BTC"}, 5 * BITCOIN)
    channel = chain.broker.open_channel("Btc", "Eth", EVM_ADDRESS, refund_address=BTC_ADDRESS, boost_fee=10,
                                        commission_bps=10)  # fmt: skip
    chain.announce(channel["address"], "Btc", BITCOIN)
    chain.new_block(5)
    chain.deposit(channel["address"], "Btc", BITCOIN)
    chain.new_block(5)


def _fail(chain: DevChain) -> None:
    """Make a payout that its receiver does not take."""
    chain.fail_receiver(EVM_ADDRESS, "Eth")
    _swap(chain, "Btc", "Eth", BITCOIN, blocks=8)
    chain.fail_receiver(EVM_ADDRESS, "Eth", fails=False)
