"""A wrong request is refused before anything is sent, with the names that it has in Python."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.sdk.calls.deposits import RequestDepositAddress
from cfnode.sdk.errors import ValidationError
from tests.sdk.scripted import Script, session
from tests.support.sdk.deposits import EVM, FOK, METHOD, OPENED, QUOTE, V1, request_v1, request_v2

CCM_QUOTE = QUOTE | {
    "destAsset": {"chain": "Arbitrum", "asset": "ETH"},
    "ccmParams": {"gasBudget": "1", "messageLengthBytes": 1},
}
AFFILIATE = {"account": "cFHyJEHEQ1YkT9xuFnxnPWVkihpYEGjBg4WbF6vCPtSPQoE8n", "commissionBps": 5}


def limits(minimum: Any, maximum: Any) -> dict[str, Any]:
    """Return an environment with the least and the largest amount of ether."""
    return {
        "cf_environment": {
            "ingress_egress": {"minimum_deposit_amounts": {"Ethereum": {"ETH": minimum}}},
            "swapping": {"maximum_swap_amounts": {"Ethereum": {"ETH": maximum}}},
        }
    }


def refused(request: Any, script: Script | None = None, **options: Any) -> ValidationError:
    """Return the refusal of a request, before which no channel was asked for."""
    script = script or Script({METHOD: OPENED})
    with pytest.raises(ValidationError) as caught:
        script.run(request, session(**options))
    assert not [request for request in script.requests if request["method"] == METHOD]
    assert not [call for call in script.calls if call.opens_channel]
    assert caught.value.code == "VALIDATION"
    return caught.value


def sent(request: Any, **options: Any) -> list[Any]:
    """Return the parameters with which a broker is asked."""
    script = Script({METHOD: OPENED})
    script.run(request, session(**options))
    (sent_request,) = (request for request in script.requests if request["method"] == METHOD)
    params: list[Any] = sent_request["params"]
    return params


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        (
            {"quote": QUOTE | {"srcAsset": {"chain": "Ethereum", "asset": "BTC"}}},
            "quote.src_asset.asset",
            "unknown asset of Ethereum 'BTC'; did you mean WBTC? "
            "Choose from CBBTC, ETH, FLIP, USDC, USDT, WBTC",
        ),
        (
            {"quote": QUOTE | {"type": "OTHER"}},
            "quote.type",
            "unknown type 'OTHER'; choose from REGULAR, DCA",
        ),
        ({"quote": QUOTE | {"type": "DCA"}}, "quote.dca_params", "missing from a DCA quote"),
        (
            {"quote": QUOTE | {"maxBoostFeeBps": float("nan")}},
            "quote.max_boost_fee_bps",
            "expected a whole number, not nan",
        ),
        (
            {"quote": QUOTE | {"isVaultSwap": True}},
            "quote",
            "cannot open a deposit channel for a vault swap quote",
        ),
        (
            {"quote": QUOTE | {"isOnChain": True}},
            "quote",
            "cannot open a deposit channel for an on-chain quote",
        ),
        (
            {"ccmParams": {"message": "0x00", "gasBudget": "1"}},
            "ccm_params",
            "the quote was requested without ccm_params",
        ),
        ({"quote": CCM_QUOTE}, "ccm_params", "missing, but the quote was requested with ccm_params"),
        (
            {"fillOrKillParams": FOK | {"slippageTolerancePercent": 1}},
            "fill_or_kill_params",
            "cannot have both min_price and slippage_tolerance_percent",
        ),
        (
            {"fillOrKillParams": {"refundAddress": EVM, "retryDurationBlocks": 10}},
            "fill_or_kill_params",
            "either min_price or slippage_tolerance_percent must be provided",
        ),
        (
            {"fillOrKillParams": FOK | {"minPrice": None, "slippageTolerancePercent": 100.5}},
            "fill_or_kill_params.slippage_tolerance_percent",
            "give a percentage from 0 to 100, not 100.5",
        ),
        (
            {"fillOrKillParams": FOK | {"minPrice": None, "slippageTolerancePercent": "much"}},
            "fill_or_kill_params.slippage_tolerance_percent",
            "expected a decimal number, not 'much'",
        ),
        (
            {"fillOrKillParams": FOK | {"livePriceSlippageTolerancePercent": 1}},
            "fill_or_kill_params.live_price_slippage_tolerance_percent",
            "live price protection is not available for this asset pair",
        ),
        (
            {"destAddress": EVM},
            "dest_address",
            f"'{EVM}' is not a valid Bitcoin address for perseverance: it is an address of "
            "Ethereum or Arbitrum or Bsc; give one of Bitcoin",
        ),
        (
            {"affiliateBrokers": [AFFILIATE | {"account": "0x00"}]},
            "affiliate_brokers[0].account",
            "'0x00' is not a valid Chainflip account (cF…): copy it whole",
        ),
        (
            {"brokerCommissionBps": 1001},
            "broker_commission_bps",
            "expected a commission of 0 to 1000 basis points, not 1001",
        ),
        (
            {"affiliateBrokers": [AFFILIATE], "brokerCommissionBps": 996},
            "broker_commission_bps",
            "996 bps of the broker and 5 of affiliates exceed 1000 in all",
        ),
        (
            {"affiliateBrokers": [AFFILIATE] * 6},
            "affiliate_brokers",
            "a swap has at most 5 affiliates, not 6",
        ),
    ],
)
def test_a_wrong_v2_request(changes: dict[str, Any], field: str, message: str) -> None:
    """Name the field by its Python name, with what it takes, and send nothing at all."""
    script = Script({METHOD: OPENED})
    error = refused(request_v2(**changes), script)
    assert (error.field, str(error), script.requests) == (field, f"{field}: {message}", [])


def test_both_addresses_are_named_when_both_are_wrong() -> None:
    """Name both wrong addresses in one error."""
    error = refused(request_v2(destAddress="x", fillOrKillParams=FOK | {"refundAddress": "y"}))
    assert [issue.field for issue in error.issues] == ["dest_address", "fill_or_kill_params.refund_address"]
    assert "dest_address: 'x' is" in str(error) and "fill_or_kill_params.refund_address: 'y' is" in str(error)


@pytest.mark.parametrize("make", [request_v1, request_v2])
def test_amounts_outside_the_chains_limits(make: Any) -> None:
    """Refuse an amount outside the limits that the chain states."""
    low = refused(make(), Script(limits("0x3e9", None)))
    assert str(low) == "expected amount is below minimum swap amount (1001)"
    high = refused(make(), Script(limits(0, 999)))
    assert str(high) == "expected amount is above maximum swap amount (999)"


def test_without_a_maximum_the_bound_is_that_of_the_type() -> None:
    """Refuse an amount above 128 bits where the chain states no limit."""
    error = refused(request_v1(amount=2**128), Script(limits(0, None)))
    assert str(error) == f"expected amount is above maximum swap amount ({2**128 - 1})"


@pytest.mark.parametrize("make", [request_v1, request_v2])
def test_only_an_own_broker_takes_a_commission(make: Any) -> None:
    """Refuse a commission and affiliates without a broker of one's own."""
    error = refused(make(brokerCommissionBps=1), broker=None)
    assert (error.field, "needs a broker of your own" in str(error)) == ("broker_commission_bps", True)
    error = refused(make(affiliateBrokers=[AFFILIATE]), broker=None)
    assert (error.field, "needs a broker of your own" in str(error)) == ("affiliate_brokers", True)


@pytest.mark.parametrize("make", [request_v1, request_v2])
def test_the_options_commission_counts_unless_the_request_has_its_own(make: Any) -> None:
    """Take the request's own commission, zero included, before that of the options."""
    broker = {"url": "http://node.test", "commissionBps": 7}
    assert sent(make(), broker=broker)[3] == 7
    assert sent(make(brokerCommissionBps=0), broker=broker)[3] == 0


@pytest.mark.parametrize("make", [request_v1, request_v2])
def test_without_conditions_the_swap_takes_any_price(make: Any) -> None:
    """Accept any price, and refund to the default address, where neither price nor slippage is given."""
    error = refused(make(fillOrKillParams=None))
    assert error.field == "fill_or_kill_params"
    assert "default_refund_addresses" in str(error)
    refund = sent(make(fillOrKillParams=None), default_refund_addresses={"Ethereum": EVM})[7]
    assert (refund["min_price"], refund["retry_duration"], refund["refund_address"]) == ("0x0", 0, EVM)


def test_chunks_need_conditions() -> None:
    """Refuse chunks without conditions, since each chunk needs a price."""
    dca = {"numberOfChunks": 2, "chunkIntervalBlocks": 2}
    for request in (
        request_v1(fillOrKillParams=None, dcaParams=dca),
        request_v2(quote=QUOTE | {"type": "DCA", "dcaParams": dca}, fillOrKillParams=None),
    ):
        error = refused(request, default_refund_addresses={"Ethereum": EVM})
        assert str(error) == "dca_params requires fill_or_kill_params"


@pytest.mark.parametrize("name", ["chunkInterval", "chunkIntervalBlocks"])
def test_the_interval_of_chunks_has_two_names_and_a_minimum(name: str) -> None:
    """Accept both names of the interval, and refuse one below two blocks."""
    assert sent(request_v1(dcaParams={"numberOfChunks": 3, name: 2}))[8] == {
        "number_of_chunks": 3,
        "chunk_interval": 2,
    }
    error = refused(request_v1(dcaParams={"numberOfChunks": 3, name: 1}))
    assert error.field == "dca_params.chunk_interval_blocks"


@pytest.mark.parametrize(
    ("make", "quote", "limit"), [(request_v1, None, 10_000), (request_v2, CCM_QUOTE, 15_000)]
)
def test_a_message_is_shorter_than_its_bound(make: Any, quote: Any, limit: int) -> None:
    """Accept a message one byte below its bound, and refuse one at it."""
    where = {"quote": quote} if quote else {"destChain": "Arbitrum", "destAsset": "ETH"}
    where |= {"destAddress": EVM}
    longest = {"message": "0x" + "ab" * (limit - 1), "gasBudget": 5}
    assert sent(make(ccmParams=longest, **where))[4]["message"] == longest["message"]
    error = refused(make(ccmParams=longest | {"message": "0x" + "ab" * limit}, **where))
    assert (error.field, str(error)) == (
        "ccm_params.message",
        f"ccm_params.message: expected less than {limit} bytes, not {limit}",
    )


@pytest.mark.parametrize(
    ("budget", "wire"), [("125000", "0x1e848"), ("0x1e848", "0x1e848"), (125000, "0x1e848")]
)
def test_a_gas_budget_is_a_number_or_a_text_and_echoed(budget: Any, wire: str) -> None:
    """Send the gas budget in hexadecimal, and give it back as it was written."""
    request = request_v2(quote=CCM_QUOTE, destAddress=EVM, ccmParams={"message": "0x", "gasBudget": budget})
    script = Script({METHOD: OPENED})
    result = script.run(request, session())
    assert script.requests[1]["params"][4]["gas_budget"] == wire
    assert result.to_json()["ccmParams"]["gasBudget"] == budget


@pytest.mark.parametrize("budget", ["", "12x", -1, True, "0x", 2**128])
def test_a_malformed_gas_budget_is_refused(budget: Any) -> None:
    """Refuse a gas budget that is empty, negative, no number or above 128 bits."""
    request = request_v2(quote=CCM_QUOTE, destAddress=EVM, ccmParams={"message": "0x", "gasBudget": budget})
    assert refused(request).field == "ccm_params.gas_budget"


@pytest.mark.parametrize("message", ["abcd", "0xabc", "0xgg", "0x00\n"])
def test_a_message_that_is_no_hex(message: str) -> None:
    """Refuse a message without 0x, of half a byte, with other letters or a line's end."""
    request = request_v2(quote=CCM_QUOTE, destAddress=EVM, ccmParams={"message": message, "gasBudget": 1})
    assert refused(request).field == "ccm_params.message"


def test_minutes_of_retry_are_blocks_of_six_seconds() -> None:
    """Round 1.25 minutes up to 13 blocks of six seconds."""
    fok = {"refundAddress": EVM, "minPrice": "1", "retryDurationMinutes": 1.25}
    assert sent(request_v2(fillOrKillParams=fok))[7]["retry_duration"] == 13


@pytest.mark.parametrize(
    ("member", "name"), [("srcChain", "src_chain"), ("destAddress", "dest_address"), ("amount", "amount")]
)
def test_a_missing_member_is_named(member: str, name: str) -> None:
    """Name the member that is missing by its Python name."""
    with pytest.raises(ValidationError) as caught:
        request_v1(**{member: None})
    assert (caught.value.field, str(caught.value)) == (name, f"{name}: Required")


@pytest.mark.parametrize("amount", ["1.5", "x", None, -1, True])
def test_an_amount_is_whole_base_units(amount: Any) -> None:
    """Refuse an amount that is no whole, positive number of base units."""
    with pytest.raises(ValidationError) as caught:
        Script(limits(0, None)).run(RequestDepositAddress(**_named(amount=amount)), session())
    assert caught.value.field == "amount"


def _named(**changes: Any) -> Any:
    names = dict(
        zip(V1, ("src_chain", "src_asset", "dest_chain", "dest_asset", "dest_address"), strict=False)
    )
    renamed = {names.get(key, key): value for key, value in V1.items() if key in names}
    return renamed | {"amount": 1000, "fill_or_kill_params": FOK} | changes
