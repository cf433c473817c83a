"""A swap's whole way, with each form of the client; a development node is broker, service and chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cfnode.sdk import (
    AffiliateBroker,
    CcmParams,
    DcaParams,
    DepositAddress,
    FillOrKillParams,
    Quote,
    QuoteCcmParams,
    SwapSDK,
    SwapStatus,
)
from tests.sdk.forms import FORMS, Form, blocking, under_trio
from tests.sdk.place import AFFILIATE_BPS, AMOUNT, OWN_BPS, RECEIVER, REFUND, Place

PAIR = ("Bitcoin", "BTC", "Ethereum", "ETH")
MESSAGE = CcmParams("0xdeadc0de", 100_000)
WAY = ["WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED"]
BLOCKS = 60
"""Far more than any swap here takes."""


@dataclass(frozen=True)
class Kind:
    """Kind of a request: its version and its options."""

    version: int
    boost: bool = False
    dca: bool = False
    ccm: bool = False
    affiliates: bool = False

    @property
    def way(self) -> list[str]:
        """The states that a swap of this kind goes through."""
        return [state for state in WAY if state != "RECEIVING"] if self.boost else WAY


FEATURES: Mapping[str, Mapping[str, bool]] = {
    "plain": {},
    "DCA": {"dca": True},
    "boost": {"boost": True},
    "CCM": {"ccm": True},
    "affiliates": {"affiliates": True},
}
KINDS = {
    f"V{version} {name}": Kind(version, **features)
    for version in (2, 1)
    for name, features in FEATURES.items()
}
CASES = [
    pytest.param(form, broker, kind, id=f"{form.__name__}, {broker}, {name}")
    for form in FORMS
    for broker in ("own broker", "swap service")
    if form is blocking or (form is under_trio) == (broker == "own broker")
    for name, kind in KINDS.items()
    if broker == "own broker" or not kind.affiliates
]


def terms(kind: Kind) -> FillOrKillParams:
    """Return conditions by price in version 1 and by slippage in version 2."""
    price: dict[str, Any] = {"min_price": "20.5"} if kind.version == 1 else {"slippage_tolerance_percent": 10}
    return FillOrKillParams(REFUND, 100, **price)


async def opened(sdk: Any, kind: Kind, place: Place) -> tuple[DepositAddress, Quote | None]:
    """Return a channel of this kind, and the quote that it is for."""
    shares = [AffiliateBroker(place.affiliate, AFFILIATE_BPS)] if kind.affiliates else []
    message = MESSAGE if kind.ccm else None
    if kind.version == 1:
        channel = await sdk.request_deposit_address(
            *PAIR,
            RECEIVER,
            AMOUNT,
            terms(kind),
            dca_params=DcaParams(2, 2) if kind.dca else None,
            max_boost_fee_bps=30 if kind.boost else None,
            affiliate_brokers=shares,
            ccm_params=message,
        )
        return channel, None
    length = QuoteCcmParams("100000", 4) if kind.ccm else None
    quotes = await sdk.get_quote_v2(*PAIR, AMOUNT, affiliate_brokers=shares, ccm_params=length)
    quote = quotes.dca if kind.dca else quotes.regular
    assert quote is not None
    quote = quote.boost_quote if kind.boost else quote
    assert quote is not None
    channel = await sdk.request_deposit_address_v2(
        quote, RECEIVER, terms(kind), affiliate_brokers=shares, ccm_params=message
    )
    return channel, quote


async def followed(sdk: Any, place: Place, channel: DepositAddress) -> tuple[list[str], SwapStatus]:
    """Return the states from the open channel to the end, a transaction seen and confirmed on the way."""
    states: list[str] = []
    transaction = ""
    for _ in range(BLOCKS):
        status = await sdk.get_status_v2(channel.deposit_channel_id)
        states += [status.state] if status.state not in states[-1:] else []
        if status.is_final:
            break
        if not transaction:
            transaction = place.announce(channel)
        elif status.deposit.witnessed_at is None:
            place.confirm(channel, transaction)
        else:
            place.node.call("dev_newBlock")
    for name in (transaction, int(status.swap_id), channel.deposit_channel_id.lower()):
        assert await sdk.get_status_v2(name) == status
    return states, status


def check_end(kind: Kind, place: Place, own_broker: bool, quote: Quote | None, last: SwapStatus) -> None:
    """Assert amounts, shares, fees and parts of a swap's last status, by its kind."""
    assert last.deposit is not None and last.swap is not None and last.swap_egress is not None
    assert (last.deposit.amount, last.refund_egress, last.dest_address) == (AMOUNT, None, RECEIVER)
    assert (last.swap.dca is not None) == kind.dca
    assert (last.ccm_params is not None) == kind.ccm
    shares = {share.account: share.commission_bps for share in last.brokers or ()}
    assert shares.get(place.affiliate, 0) == (AFFILIATE_BPS if kind.affiliates else 0)
    assert sum(shares.values()) == own_broker * OWN_BPS + kind.affiliates * AFFILIATE_BPS
    taken = {fee.type: fee.amount for fee in last.fees or ()}
    assert ("BROKER" in taken, "BOOST" in taken) == (own_broker, kind.boost)
    if kind.boost:
        assert last.boost is not None
        assert (last.boost.max_boost_fee_bps, last.boost.effective_boost_fee_bps) == (30, 5)
    if quote is not None and not kind.dca:
        # Each share of a commission is rounded by itself, to a millionth of a dollar.
        rounding = quote.egress_amount // 10**9 if kind.affiliates else 0
        assert abs(last.swap_egress.amount - quote.egress_amount) <= rounding


@pytest.mark.parametrize(("form", "broker", "kind"), CASES)
def test_a_swap_from_the_quote_to_the_receiver(form: Form, broker: str, kind: Kind, place: Place) -> None:
    """Lead a swap of each kind by each client and broker through its states to the receiver."""
    own_broker = broker == "own broker"

    async def swap(sdk: Any) -> None:
        channel, quote = await opened(sdk, kind, place)
        assert channel.max_boost_fee_bps == (30 if kind.boost else 0)
        assert channel.broker_commission_bps == (OWN_BPS if own_broker else 0)
        states, last = await followed(sdk, place, channel)
        assert states == kind.way
        check_end(kind, place, own_broker, quote, last)
        assert (await sdk.get_status(channel.deposit_channel_id)).state == "COMPLETE"

    form(swap, place.options(broker))


def test_an_affiliate_earns_its_share(place: Place) -> None:
    """Pay the affiliate its share of the fee, to one unit."""

    def earned() -> int:
        balances = place.node.call("cf_free_balances", place.affiliate)
        return int(balances["Ethereum"]["USDC"], 16)

    async def swap(sdk: Any) -> None:
        before = earned()
        channel, _ = await opened(sdk, KINDS["V2 affiliates"], place)
        _, last = await followed(sdk, place, channel)
        fee = next(fee.amount for fee in last.fees or () if fee.type == "BROKER")
        share = fee * AFFILIATE_BPS // (OWN_BPS + AFFILIATE_BPS)
        assert abs(earned() - before - share) <= 1

    blocking(swap, place.options("own broker"))


def test_a_price_that_is_not_met_is_refunded(place: Place) -> None:
    """Refund a swap whose price no pool gives, less the fee."""
    with SwapSDK(place.options("swap service")) as sdk:
        asked = FillOrKillParams(REFUND, 2, min_price="1000")
        channel = sdk.request_deposit_address(*PAIR, RECEIVER, AMOUNT, asked)
        place.confirm(channel, place.announce(channel))
        for _ in range(BLOCKS):
            if (status := sdk.get_status_v2(channel.deposit_channel_id)).is_final:
                break
            place.node.call("dev_newBlock")
    assert (status.state, status.swap_egress) == ("COMPLETED", None)
    assert status.refund_egress is not None
    assert 0 < status.refund_egress.amount < AMOUNT


@pytest.mark.parametrize("form", FORMS)
def test_facts_are_those_of_the_node(form: Form, place: Place) -> None:
    """Give limits, chains, assets, fees and boost pools as the node states them."""

    async def ask(sdk: Any) -> None:
        limits = await sdk.get_swap_limits()
        stated = place.node.call("cf_ingress_egress_environment")["minimum_deposit_amounts"]
        assert limits.minimum_swap_amounts["Bitcoin"]["BTC"] == int(stated["Bitcoin"]["BTC"], 16) > 0
        chains = {chain.chain: chain for chain in await sdk.get_chains("Bitcoin")}
        assert "Bitcoin" not in chains
        assert chains["Ethereum"].evm_chain_id == 10_997
        (usdc,) = [asset for asset in await sdk.get_assets("Ethereum") if asset.symbol == "USDC"]
        assert usdc.decimals == 6
        assert (await sdk.get_required_block_confirmations())["Bitcoin"] == 3
        assert (await sdk.get_channel_opening_fees())["Bitcoin"] >= 0
        (pool,) = await sdk.get_boost_liquidity(chain="Bitcoin", asset="BTC")
        (depth,) = place.node.call("cf_boost_pools_depth")
        assert (pool.fee_tier_bps, pool.available_amount) == (5, int(depth["available_amount"], 16))
        assert await sdk.get_boost_liquidity(fee_tier_bps=7) == ()

    form(ask, place.options("swap service"))
