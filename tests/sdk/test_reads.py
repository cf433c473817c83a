"""Quotes, statuses, limits and vault swaps: what is asked, and what is made of the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.sdk import Assets, Chains, Networks
from cfnode.sdk.calls.infos import (
    GetAssets,
    GetBoostLiquidity,
    GetChains,
    GetChannelOpeningFees,
    GetRequiredBlockConfirmations,
    GetSwapLimits,
)
from cfnode.sdk.calls.quotes import GetQuote, GetQuoteV2
from cfnode.sdk.calls.statuses import GetStatus, GetStatusV2, swap_reference
from cfnode.sdk.calls.vault_swaps import EncodeVaultSwapData
from cfnode.sdk.errors import BackendError, BadAnswer, BadStatus, ValidationError
from cfnode.sdk.models.quote import Quote
from cfnode.sdk.models.status import SwapStatus
from cfnode.sdk.networks import NETWORKS
from tests.conftest import shared
from tests.sdk.scripted import Script, session

QUOTES = ("regular", "dca", "boost", "dca-boost", "ccm")


def sample(name: str) -> Any:
    """Return a recorded document."""
    return json.loads(shared("sdk-examples", name).read_text())


@pytest.mark.parametrize("kind", QUOTES)
def test_a_quote_is_read_and_written_whole(kind: str) -> None:
    """Read a recorded quote and write it back, without a member that is unknown."""
    document = sample(f"quote-{kind}.json")
    quote = Quote.from_json(document)
    assert quote.to_json() == document
    assert not quote.extra


def test_members_of_a_newer_service_are_kept() -> None:
    """Write a member back that only a newer service knows."""
    document = sample("quote-regular.json") | {"newMember": {"a": [1, "2"]}}
    assert Quote.from_json(document).to_json() == document


def test_each_state_of_a_swap_is_read_and_written_whole() -> None:
    """Read each recorded status and write it back, and call the right ones final."""
    states = sample("status-v2.json")["states"]
    assert len(states) >= 10
    for name, document in states.items():
        status = SwapStatus.from_json(document)
        assert status.to_json() == document, name
        assert status.is_final == name.startswith(("COMPLETED", "FAILED")), name


@pytest.mark.parametrize("version", ["1.8.3", "1.11.2"])
def test_a_v2_quote_is_asked_as_the_javascript_sdk_does(version: str) -> None:
    """Send the query of the JavaScript SDK, member by member, and read its quotes."""
    case = sample("backend-http-by-version.json")[version]["getQuoteV2"]
    result = case["result"]
    script = Script(pages={"/v2/quote": (200, result["quotes"])})
    names = ("srcChain", "srcAsset", "destChain", "destAsset", "amount", "ccmParams")
    asked = {name: result[name] for name in (*names, "brokerCommissionBps", "affiliateBrokers")}
    quote = script.run(GetQuoteV2.from_json(asked), session(enabled_features={"dca": True}))
    query = case["http"][0]["query"]
    assert list(script.calls[0].query) == [pair for pair in query.items() if pair[0] != "isOnChain"]
    document = quote.to_json()
    assert all(document[key] == value for key, value in result.items() if key != "isOnChain")
    assert quote.regular.type == "REGULAR"
    assert quote.dca is not None and quote.dca.dca_params is not None


def test_a_v1_quote_is_asked_as_the_javascript_sdk_does() -> None:
    """Send the query of the JavaScript SDK in version 1, and read its quote."""
    case = sample("backend-http-by-version.json")["1.8.3"]["getQuote"]
    result = case["result"]
    script = Script(pages={"/quote": (200, result["quote"])})
    call = GetQuote("Ethereum", "ETH", "Bitcoin", "BTC", 1_500_000_000_000_000_000)
    quote = script.run(call, session(broker=None))
    assert list(script.calls[0].query) == list(case["http"][0]["query"].items())
    assert quote.to_json().items() >= result.items()


def test_a_status_is_asked_by_channel_swap_or_transaction() -> None:
    """Ask by channel, swap or transaction, in one spelling and escaped within the path."""
    assert swap_reference("6739624-ethereum-2562") == "6739624-Ethereum-2562"
    assert swap_reference(332925) == "332925"
    assert swap_reference(" 0X" + "AB" * 32) == "0x" + "AB" * 32
    script = Script(pages={"/v2/swaps/6739624-Ethereum-2562": (200, {"state": "WAITING"})})
    assert script.run(GetStatusV2("6739624-ETHEREUM-2562"), session()).state == "WAITING"
    script = Script(pages={"/swaps/0xabc%2F..": (200, {"state": "COMPLETE", "swapId": "7"})})
    assert script.run(GetStatus("0xabc/.."), session()).swap_id == "7"


@pytest.mark.parametrize("reference", ["", " ", True, "1-Nowhere-2", "x" * 300])
def test_a_malformed_swap_reference_is_refused(reference: Any) -> None:
    """Refuse a reference that is empty, no text, of an unknown chain or too long."""
    with pytest.raises(ValidationError) as caught:
        swap_reference(reference)
    assert caught.value.field == "id"


def test_a_refusal_of_the_service_has_its_message() -> None:
    """Give the service's own message and status of a refusal."""
    script = Script(pages={"/v2/swaps/7": (404, {"message": "resource not found"})})
    with pytest.raises(BackendError, match="resource not found") as caught:
        script.run(GetStatusV2(7), session())
    assert (caught.value.status, caught.value.code) == (404, "BACKEND")


@pytest.mark.parametrize(
    "page",
    [
        (405, b"Used HTTP Method is not allowed. POST is required\n"),
        (200, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid request"}}),
    ],
)
def test_a_node_without_a_swap_service_is_named_as_such(page: Any) -> None:
    """Say that a node without a swap service has none, by either of its answers."""
    with pytest.raises(BadStatus, match=r"this node has no swap service .*--backend") as caught:
        Script(pages={"/v2/swaps/7": page}).run(GetStatusV2(7), session())
    assert (caught.value.retryable, caught.value.code) == (False, "HTTP_STATUS")


@pytest.mark.parametrize("page", [(502, b"<html>"), (404, b"<html>"), (503, {"message": "disabled"})])
def test_a_service_that_is_down(page: Any) -> None:
    """Allow a repetition after 502 and 503, and none after 404."""
    with pytest.raises(BadStatus) as caught:
        Script(pages={"/v2/swaps/7": page}).run(GetStatusV2(7), session())
    assert caught.value.retryable == (page[0] >= 500)


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[]", b"{}", b'{"state": 5}', b"[" * 100_000, b"null", b'{"state"']
)
def test_a_service_that_answers_something_else(body: bytes) -> None:
    """Raise BadAnswer for anything but a status."""
    with pytest.raises(BadAnswer) as caught:
        Script(pages={"/v2/swaps/7": (200, body)}).run(GetStatusV2(7), session())
    assert caught.value.code == "BAD_ANSWER"


SUPPORTED = [
    {"chain": "Bitcoin", "asset": "BTC"},
    {"chain": "Ethereum", "asset": "USDC"},
    {"chain": "Moon", "asset": "CHEESE"},
    {"chain": "Solana", "asset": "SOL"},
    {"chain": "Ethereum", "asset": "ETH"},
]
INGRESS = {
    "minimum_deposit_amounts": {"Ethereum": {"ETH": "0x10", "USDC": 20}, "Bitcoin": {"BTC": 7}},
    "egress_dust_limits": {"Ethereum": {"ETH": 1, "USDC": "0x2"}},
    "witness_safety_margins": {"Bitcoin": 2, "Ethereum": 1, "Solana": 0, "Polkadot": None},
    "channel_opening_fees": {"Bitcoin": "0x0", "Ethereum": 5},
}
SWAPPING = {"maximum_swap_amounts": {"Bitcoin": {"BTC": "0x64"}}, "max_swap_retry_duration_blocks": 600}
NODE = {
    "cf_supported_assets": SUPPORTED,
    "cf_environment": {"ingress_egress": INGRESS, "swapping": SWAPPING},
}


def test_chains_in_order_of_appearance() -> None:
    """List chains as the node does, with confirmations and retries, and skip unknown ones."""
    chains = Script(NODE).run(GetChains(), session())
    assert [chain.to_json() for chain in chains] == [
        {
            "chain": "Bitcoin",
            "name": "Bitcoin",
            "isMainnet": False,
            "requiredBlockConfirmations": 3,
            "maxRetryDurationBlocks": 600,
        },
        {
            "chain": "Ethereum",
            "name": "Ethereum",
            "isMainnet": False,
            "evmChainId": 11155111,
            "requiredBlockConfirmations": 2,
            "maxRetryDurationBlocks": 600,
        },
        {"chain": "Solana", "name": "Solana", "isMainnet": False, "maxRetryDurationBlocks": 600},
    ]
    others = Script(NODE).run(GetChains("Bitcoin"), session())
    assert [other.chain for other in others] == ["Ethereum", "Solana"]
    with pytest.raises(ValidationError, match="source_chain: unknown chain 'Moon'; choose from Eth"):
        Script(NODE).run(GetChains("Moon"), session())


def test_assets_have_names_contracts_and_limits() -> None:
    """List assets with contract, decimals and limits, and refuse an unknown chain."""
    (usdc, eth) = Script(NODE).run(GetAssets("Ethereum"), session())
    assert usdc.to_json() == {
        "chainflipId": "Usdc",
        "asset": "USDC",
        "chain": "Ethereum",
        "contractAddress": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
        "decimals": 6,
        "name": "USDC",
        "symbol": "USDC",
        "isMainnet": False,
        "minimumSwapAmount": "20",
        "maximumSwapAmount": None,
        "minimumEgressAmount": "2",
    }
    assert (eth.name, eth.contract_address) == ("Ether", None)
    with pytest.raises(ValidationError, match="chain: unknown chain 'Moon'; choose from Eth"):
        Script(NODE).run(GetAssets("Moon"), session())


def test_names_and_contracts_are_the_documented_ones() -> None:
    """Give names, decimals, contracts, block times and chain ids as documented."""
    from cfnode.core.assets import ASSETS
    from cfnode.sdk.assets import contract_address, display_name
    from cfnode.sdk.networks import NETWORKS
    from cfnode.swaps.timing import BLOCK_TIMES

    document = json.loads(shared("assets.json").read_text())
    for name, facts in document["assets"].items():
        asset = ASSETS[name]
        assert display_name(asset) == facts["name"]
        assert asset.decimals == facts["decimals"]
        for network, address in (facts["contractAddress"] or {}).items():
            assert contract_address(asset, network) == address
    for chain, facts in document["chains"].items():
        assert BLOCK_TIMES[chain].usual == facts["blockTimeSeconds"] * 1000
        for network, chain_id in (facts["evmChainId"] or {}).items():
            assert NETWORKS[network].evm_chain_ids[chain] == chain_id


def test_limits_fees_and_confirmations() -> None:
    """Give limits, fees and confirmations from one environment that is asked for once."""
    script, on = Script(NODE), session()
    limits = script.run(GetSwapLimits(), on)
    assert limits.minimum_swap_amounts["Ethereum"] == {"USDC": 20, "ETH": 16}
    assert limits.maximum_swap_amounts == {
        "Bitcoin": {"BTC": 100},
        "Ethereum": {"USDC": None, "ETH": None},
        "Solana": {"SOL": None},
    }
    assert script.run(GetChannelOpeningFees(), on) == {"Bitcoin": 0, "Ethereum": 5}
    assert script.run(GetRequiredBlockConfirmations(), on) == {
        "Bitcoin": 3,
        "Ethereum": 2,
        "Solana": None,
        "Polkadot": None,
    }
    assert [request["method"] for request in script.requests].count("cf_environment") == 1


def test_boost_pools_by_tier() -> None:
    """List boost pools from the highest tier, or of one tier."""
    rows = [
        {"chain": "Bitcoin", "asset": "BTC", "tier": 5, "available_amount": "0xa"},
        {"chain": "Bitcoin", "asset": "BTC", "tier": 30, "available_amount": "0x14"},
    ]
    script = Script({"cf_boost_pools_depth": rows})
    pools = script.run(GetBoostLiquidity(asset="BTC", chain="Bitcoin"), session())
    assert [(pool.fee_tier_bps, pool.available_amount) for pool in pools] == [(30, 20), (5, 10)]
    assert len(script.run(GetBoostLiquidity(fee_tier_bps=5), session())) == 1


def test_the_names_are_those_of_the_assets_and_networks() -> None:
    """Offer as enums the names of all chains, assets and networks, which a query takes."""
    assert set(Chains) == set(CHAINS)
    assert set(Assets) == {asset.symbol for asset in ASSETS.values()}
    assert set(Networks) == set(NETWORKS)
    pair = (Chains.Bitcoin, Assets.BTC, Chains.Ethereum, Assets.ETH)
    script = Script(pages={"/v2/quote": (200, [])})
    asked = script.run(GetQuoteV2(*pair, 10**8), session(backend_url="http://service.test"))
    assert script.calls[0].query[1:5] == (
        ("srcChain", "Bitcoin"),
        ("srcAsset", "BTC"),
        ("destChain", "Ethereum"),
        ("destAsset", "ETH"),
    )
    assert json.loads(json.dumps(asked.to_json()))["destAsset"] == "ETH"


@pytest.mark.parametrize("answer", [{}, {"ingress_egress": {}}, [], None, "x"])
def test_a_malformed_environment_is_refused(answer: Any) -> None:
    """Refuse an environment that lacks its parts."""
    with pytest.raises(BadAnswer, match="cf_environment"):
        Script({"cf_environment": answer}).run(GetChannelOpeningFees(), session())


def test_an_environment_with_a_malformed_amount_is_refused() -> None:
    """Name the member of the environment that is no amount."""
    broken = {"ingress_egress": {"channel_opening_fees": {"Bitcoin": "much"}}, "swapping": {}}
    with pytest.raises(BadAnswer, match="channel_opening_fees"):
        Script({"cf_environment": broken}).run(GetChannelOpeningFees(), session())


@pytest.mark.parametrize("chain", ["bitcoin", "ethereum", "arbitrum", "solana"])
def test_vault_swap_data_of_each_chain(chain: str) -> None:
    """Encode a vault swap of each chain with its own extra parameters."""
    answer = json.loads(
        shared("rpc-examples", f"broker_request_swap_parameter_encoding.{chain}.json").read_text()
    )
    source = {"bitcoin": "BTC", "solana": "SOL"}.get(chain, "ETH")
    refund = {
        "bitcoin": "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
        "solana": "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC",
    }.get(chain, "0x" + "11" * 20)
    quote = sample("quote-regular.json") | {
        "isVaultSwap": True,
        "srcAsset": {"chain": chain.capitalize(), "asset": source},
        "destAsset": {"chain": "Ethereum", "asset": "USDC"},
        "recommendedLivePriceSlippageTolerancePercent": None,
    }
    script = Script({"broker_request_swap_parameter_encoding": answer})
    fok = {"refundAddress": refund, "retryDurationBlocks": 4, "minPrice": "0.5"}
    call = EncodeVaultSwapData.from_json(
        {"quote": quote, "destAddress": "0x" + "22" * 20, "fillOrKillParams": fok, "srcAddress": refund}
    )
    data = script.run(call, session())
    assert data.chain == chain.capitalize()
    extra = script.requests[1]["params"][4]
    assert extra["chain"] == chain.capitalize()
    if chain == "bitcoin":
        # 1 BTC at 0.5 USDC is half a million base units of USDC.
        assert extra["min_output_amount"] == hex(500_000)
    else:
        assert extra["input_amount"] == hex(100_000_000)
    if chain == "solana":
        assert extra["seed"] == "0x" + bytes(range(32)).hex()


VAULT_QUOTE = {
    "isVaultSwap": True,
    "srcAsset": {"chain": "Ethereum", "asset": "ETH"},
    "destAsset": {"chain": "Bitcoin", "asset": "BTC"},
    "recommendedLivePriceSlippageTolerancePercent": None,
}


def vault_swap(quote: dict[str, Any] | None = None, **changes: Any) -> EncodeVaultSwapData:
    """Return a request for a vault swap, with changes of its quote and terms."""
    base = {
        "quote": sample("quote-regular.json") | VAULT_QUOTE | (quote or {}),
        "destAddress": "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
        "fillOrKillParams": {"refundAddress": "0x" + "11" * 20, "retryDurationBlocks": 4, "minPrice": "0.5"},
    }
    return EncodeVaultSwapData.from_json(base | changes)


CCM = {"message": "0xdead", "gasBudget": 1}
QUOTED_CCM = {"ccmParams": {"gasBudget": "1", "messageLengthBytes": 2}}
BITCOIN = {"srcAsset": VAULT_QUOTE["destAsset"], "destAsset": VAULT_QUOTE["srcAsset"]}
BACK = {
    "destAddress": "0x" + "11" * 20,
    "fillOrKillParams": {
        "refundAddress": "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
        "retryDurationBlocks": 4,
        "minPrice": 1,
    },
}
POLKADOT = {"srcAsset": {"chain": "Assethub", "asset": "DOT"}}


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        (
            ({"isVaultSwap": False}, {}),
            "quote",
            "cannot encode a vault swap for a deposit channel quote",
        ),
        ((POLKADOT, {}), "quote.src_asset", "no vault swaps from Assethub; choose from Bitcoin"),
        (({"type": "DCA"}, {}), "quote.dca_params", "missing from a DCA quote"),
        (({"type": "LIMIT"}, {}), "quote.type", "unknown type 'LIMIT'; choose from REGULAR, DCA"),
        (({}, {"ccmParams": CCM}), "ccm_params", "requested without ccm_params"),
        ((QUOTED_CCM, {}), "ccm_params", "requested with ccm_params"),
        (({}, {"destAddress": "x"}), "dest_address", "dest_address: 'x' is not a valid Bitcoin address"),
        (({}, {"srcAddress": "x"}), "src_address", "src_address: 'x' is not a valid Ethereum address"),
        ((BITCOIN, {"brokerCommissionBps": 256} | BACK), "broker_commission_bps", "0 to 255 basis points"),
        (({"depositAmount": str(2**128)}, {}), "quote.deposit_amount", "above maximum swap amount"),
    ],
)
def test_a_vault_swap_that_cannot_be(
    changes: tuple[dict[str, Any], dict[str, Any]], field: str, words: str
) -> None:
    """Name the field that rules a vault swap out, before the broker is asked."""
    script, (quote, terms) = Script(), changes
    with pytest.raises(ValidationError, match=words) as caught:
        script.run(vault_swap(quote, **terms), session())
    assert caught.value.field == field
    asked = [] if field != "quote.deposit_amount" else ["cf_environment"]
    assert [request["method"] for request in script.requests] == asked


def test_a_vault_swap_by_the_swap_service_in_its_own_form() -> None:
    """Encode by the swap service with its names, and refuse a commission there."""
    answer = {"chain": "Ethereum", "calldata": "0x12", "value": "7", "to": "0x" + "33" * 20}
    script = Script(pages={"/api/encodeVaultSwapData": (200, answer)})
    data = script.run(vault_swap(), session(broker=None, backend_url="http://service.test"))
    assert (data.to_json(), data.value) == (answer, 7)  # type: ignore[union-attr]
    body = json.loads(script.calls[-1].body or b"")
    assert (body["srcAsset"], body["destAsset"]) == (VAULT_QUOTE["srcAsset"], VAULT_QUOTE["destAsset"])
    assert set(body["fillOrKillParams"]) >= {"retryDurationBlocks", "minPriceX128", "refundAddress"}
    for changes in ({"brokerCommissionBps": 5}, {"affiliateBrokers": [{"account": "x", "commissionBps": 1}]}):
        with pytest.raises(ValidationError, match="needs a broker of your own"):
            script.run(vault_swap(**changes), session(broker=None, backend_url="http://service.test"))
