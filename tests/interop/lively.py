"""A development chain on which much has happened: few answers of its node are empty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import Metadata
from tests.process import NodeProcess
from tests.rpc.samples import BTC, ETH, EVM_ADDRESS, REFUND, USDC
from tests.signing import metadata_of, signed, signed_by_wallet

BTC_ADDRESS: Final = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
SOL_ADDRESS: Final = "DRpbCBMxVnDK7maPM5tGv6MvB3v1sRMC86PZ8okm21hy"
TRON_ADDRESS: Final = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
ARB_ETH: Final = {"chain": "Arbitrum", "asset": "ETH"}
TRON_USDT: Final = {"chain": "Tron", "asset": "USDT"}
TRX: Final = {"chain": "Tron", "asset": "TRX"}
SOL_USDC: Final = {"chain": "Solana", "asset": "USDC"}
ADDRESSES: Final = {
    "Bitcoin": BTC_ADDRESS,
    "Ethereum": EVM_ADDRESS,
    "Arbitrum": EVM_ADDRESS,
    "Tron": TRON_ADDRESS,
    "Solana": SOL_ADDRESS,
}
ETHER, BITCOIN, DOLLAR = 10**18, 10**8, 10**6
BROKER, PROVIDER = (Keypair.from_suri(f"//{name}") for name in ("Alice", "Bob"))


def account(key: Keypair) -> str:
    """Return an account in SS58, as clients write it."""
    return ss58.encode(key.public, 2112)


@dataclass
class Life:
    """Steps of a broker, a provider, a booster and some users on a node that seals at once."""

    node: NodeProcess
    failed: dict[str, int] = field(default_factory=dict)
    """Broadcasts to fetch instead of transfers that failed, by chain."""
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Chains, and blocks in which something was seen of them."""

    def begin(self) -> Life:
        """Do all that follows, one after the other; return the life."""
        self.node.call("dev_newBlock")
        for happens in (self.price, self.provide, self.fail_transfers, self.boost, self.trade, self.pay_in):
            happens()
        return self

    @cached_property
    def metadata(self) -> Metadata:
        """Return the runtime's metadata."""
        return metadata_of(self.node)

    def submit(self, pallet: str, name: str, **arguments: Any) -> list[Any]:
        """Return the provider's transaction in a block of its own; the events of that block."""
        transaction = signed(self.node, self.metadata, PROVIDER, pallet, name, **arguments)
        events: list[Any] = self.node.call("dev_events", self.node.call("dev_newBlock", None, [transaction]))
        assert not [event for event in events if event["name"] == "ExtrinsicFailed"], events
        return events

    def channel(self, source: Any, target: Any, **more: Any) -> str:
        """Return the address of a deposit channel."""
        refund = {"retry_duration": 10, "min_price": "0x0", "refund_address": ADDRESSES[source["chain"]]}
        opened = self.node.call(
            "broker_request_swap_deposit_address",
            source_asset=source,
            destination_asset=target,
            destination_address=ADDRESSES[target["chain"]],
            broker_commission=10,
            refund_parameters=refund,
            **more,
        )
        return str(opened["address"])

    def seal(self, blocks: int) -> None:
        """Make so many blocks more."""
        for _ in range(blocks):
            self.node.call("dev_newBlock")

    @property
    def height(self) -> int:
        """The best block's number."""
        return int(self.node.call("chain_getHeader")["number"], 16)

    def blocks(self, first: int) -> Iterator[str]:
        """Yield the hashes of the blocks from a number on."""
        for number in range(first, self.height + 1):
            yield self.node.call("chain_getBlockHash", number)

    # Steps of several accounts

    def trade(self) -> None:
        """Trade: the broker has an affiliate and a private channel, and a swap of its users is under way."""
        affiliate = self.node.call("broker_register_affiliate", EVM_ADDRESS)
        self.node.call("broker_open_private_btc_channel")
        fees = [{"account": affiliate, "bps": 5}]
        address = self.channel(ETH, BTC, affiliate_fees=fees)
        self.node.call("dev_deposit", address, ETH, hex(ETHER))
        self.seal(4)
        chunks = {"number_of_chunks": 100, "chunk_interval": 2}
        address = self.channel(ETH, BTC, dca_parameters=chunks)
        self.node.call("dev_deposit", address, ETH, hex(100 * ETHER))

    def fail_transfers(self) -> None:
        """Make transfers that their receivers refuse."""
        before = self.height
        for target in (ETH, ARB_ETH, TRON_USDT):
            self.node.call("dev_failReceiver", ADDRESSES[target["chain"]], target)
            self.node.call("dev_deposit", self.channel(BTC, target), BTC, hex(BITCOIN // 10))
        self.seal(6)
        for block in self.blocks(before + 1):
            for event in self.node.call("dev_events", block):
                if event["name"] == "TransferFallbackRequested":
                    chain = event["pallet"].removesuffix("IngressEgress")
                    self.failed[chain] = event["fields"]["broadcast_id"]

    def provide(self) -> None:
        """Provide orders of each kind."""
        self.submit("LiquidityProvider", "register_lp_account")
        place = ("Eth", bytes.fromhex(EVM_ADDRESS[2:]))
        self.submit("LiquidityProvider", "register_liquidity_refund_address", address=place)
        for name, asset, amount in (("Eth", ETH, 100 * ETHER), ("Usdc", USDC, 300_000 * DOLLAR)):
            events = self.submit(
                "LiquidityProvider", "request_liquidity_deposit_address", asset=name, boost_fee=0
            )
            (ready,) = [
                event["fields"] for event in events if event["name"] == "LiquidityDepositAddressReady"
            ]
            self.node.call("dev_deposit", ready["deposit_address"][1], asset, hex(amount))
        tick = self.node.call("cf_pool_price", ETH, USDC)["tick"]
        pair = {"base_asset": "Eth", "quote_asset": "Usdc"}
        for side, number, away, amount in (("Sell", 1, 900, ETHER), ("Buy", 2, -900, 1000 * DOLLAR)):
            order = {"side": side, "id": number, "option_tick": tick + away, "sell_amount": amount}
            times = {"dispatch_at": None, "close_order_at": None}
            self.submit("LiquidityPools", "set_limit_order", **pair, **order, **times)
        ticks = {"start": tick - 1000, "end": tick + 1000}
        size = ("Liquidity", {"liquidity": 10**15})
        self.submit("LiquidityPools", "set_range_order", **pair, id=3, option_tick_range=ticks, size=size)

    def boost(self) -> None:
        """Boost a deposit that is not yet confirmed."""
        self.node.call("dev_setBoost", BTC, hex(5 * BITCOIN))
        self.node.call("dev_announceDeposit", self.channel(BTC, ETH, boost_fee=30), BTC, hex(BITCOIN))

    def pay_in(self) -> None:
        """Witness a deposit, a swap by way of the vault, and transactions of the chain's own."""
        shares = [{"account": self.node.call("broker_get_affiliates")[0][0], "bps": 5}]
        terms = {"chain": "Ethereum", "input_amount": hex(ETHER), "refund_parameters": REFUND}
        asked = (ETH, BTC, BTC_ADDRESS, 10, terms, None, 0, shares)
        swap = self.node.call("broker_request_swap_parameter_encoding", *asked)
        paid = self.node.call("dev_deposit", self.channel(BTC, ETH), BTC, hex(BITCOIN))
        sent = (block for block in self.blocks(1) if self.seen_of("Ethereum", block)["broadcasts"])
        self.seen += [("Bitcoin", paid), ("Ethereum", self.node.call("dev_sendToVault", swap))]
        self.seen += [("Ethereum", next(sent))]

    def seen_of(self, chain: str, block: str) -> Any:
        """Return the witnessed events of a chain in a block."""
        return self.node.call("cf_ingress_egress_events", chain, block)

    def wallet_signs(self) -> list[Any]:
        """Return the parameters of a channel for a wallet's account, which has signed its refund address."""
        remark = f"0x00005400{EVM_ADDRESS[2:]}"  # System.remark of the SCALE form of Eth(address)
        (payload, bounds) = self.node.call(
            "cf_encode_non_native_call", remark, 1000, 0, {"Eth": "PersonalSign"}
        )
        return [signed_by_wallet(payload["String"]), bounds, ETH, None, EVM_ADDRESS]

    def price(self) -> None:
        """Set all prices of the oracle."""
        for feed, price in (("Btc", 86_500), ("Eth", 2_800), ("Sol", 127), ("Usdc", 1), ("Usdt", 1)):
            self.node.call("dev_setOracle", feed, hex(price * DOLLAR))
