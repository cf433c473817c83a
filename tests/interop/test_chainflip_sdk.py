"""Releases of Chainflip's swap SDK, given a development node's address and nothing else, swap there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.interop.lively import BITCOIN, BROKER, Life, account
from tests.rpc.samples import BTC
from tests.support.interop.chainflip_sdk import BOTH_FORMS, NEWER_FORM, WAYS
from tests.support.interop.programs import report_of, script_of

pytestmark = pytest.mark.world

PLAYED = {"service": ("plain", "message"), "broker": ("chunks", "boosted", "message", "affiliates")}
SWAPS = {f"{form}, {place}" for place, forms in PLAYED.items() for form in forms}
COMMISSION, AFFILIATE_SHARE = 10, 25


@pytest.fixture(scope="module", params=[BOTH_FORMS, NEWER_FORM])
def report(
    request: pytest.FixtureRequest,
    lively: Life,
    node_modules: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """Return the answers to an SDK, and the version of that SDK."""
    if not (node_modules / request.param).exists():
        pytest.skip("Chainflip's SDK is not among the Node.js peers: scripts/peers installs it")
    lively.node.call("dev_setBoost", BTC, hex(5 * BITCOIN))
    ((affiliate, _),) = lively.node.call("broker_get_affiliates")
    script = script_of("chainflip_sdk.mjs", node_modules, tmp_path_factory.mktemp("sdk"))
    report = report_of("node", script, lively.node.url, request.param, affiliate)
    return report | {"sdk": request.param, "affiliate": affiliate}


def test_each_kind_of_swap_goes_its_way_to_the_end(report: Any) -> None:
    """Take each kind of swap through all of its states to the end, in both forms of the status."""
    forms = ("V2", "V1") if report["sdk"] == BOTH_FORMS else ("V2",)
    assert set(report["swaps"]) == {f"{form} {swap}" for form in forms for swap in SWAPS}
    for name, swap in report["swaps"].items():
        skipped = "RECEIVING" if "boosted" in name else None
        assert swap["states"] == [state for state in WAYS[name[:2]] if state != skipped], name


def test_what_arrives_is_what_was_asked_for(report: Any) -> None:
    """Report the amounts, messages and chunks that were asked for."""
    for name, swap in report["swaps"].items():
        quote, status = swap["quote"], swap["status"]
        arrived = int(status["swapEgress"]["amount"] if name[:2] == "V2" else status["egressAmount"])
        assert int(quote["egressAmount"]) * 9 // 10 < arrived, name
        assert ("ccmParams" in status) == ("message" in name), name
        assert (status.get("dcaParams") is not None) == ("chunks" in name), name
        block, chain, _ = swap["channel"]["depositChannelId"].split("-")
        assert (int(block) > 0, chain) == (True, "Bitcoin"), name


def test_a_broker_of_ones_own_and_its_affiliate_take_their_shares(report: Any) -> None:
    """Charge the broker's commission and the affiliate's only where the request names them."""
    own = {"account": account(BROKER), "commissionBps": COMMISSION}
    affiliate = {"account": report["affiliate"], "commissionBps": AFFILIATE_SHARE}
    for name, swap in report["swaps"].items():
        took = swap["channel"]["brokerCommissionBps"]
        assert took == (COMMISSION if name.endswith("broker") else 0), name
        if name.startswith("V2") and name.endswith("broker"):
            assert swap["status"]["brokers"] == [own, *([affiliate] if "affiliates" in name else [])], name


def test_the_sdk_reads_the_values_of_the_node(report: Any, lively: Life) -> None:
    """Return confirmations, limits, assets and boost depths to the SDK as the node has them."""
    limits, reads = lively.node.call("cf_environment")["ingress_egress"], report["reads"]
    margins = {chain: margin and margin + 1 for chain, margin in limits["witness_safety_margins"].items()}
    for chain, blocks in reads["getRequiredBlockConfirmations"].items():
        assert blocks == margins[chain]
    for chain, least in reads["getSwapLimits"]["minimumSwapAmounts"].items():
        for asset, amount in least.items():
            assert int(amount) == int(limits["minimum_deposit_amounts"][chain][asset], 16)
    assert {chain["chain"] for chain in reads["getChains"]} == set(reads["getRequiredBlockConfirmations"])
    assert {"Btc", "Eth", "Usdc", "Sol"} < {asset["chainflipId"] for asset in reads["getAssets"]}
    (depth,) = lively.node.call("cf_boost_pools_depth")
    (liquidity,) = reads["getBoostLiquidity"]
    assert (liquidity["feeTierBps"], liquidity["asset"]) == (depth["tier"], depth["asset"])


def test_a_vault_swap_is_encoded_by_the_broker_and_by_the_service(report: Any, lively: Life) -> None:
    """Encode a vault swap for the broker that the caller chose, at the vault's address."""
    vault = "0x" + bytes(lively.node.call("cf_get_vault_addresses")["ethereum"]["Eth"]).hex()
    own, services = (report["encoded"][place] for place in ("broker", "service"))
    for swap in (own, services):
        assert (swap["chain"], swap["to"], swap["value"]) == ("Ethereum", vault, str(10**18))
    assert BROKER.public.hex() in own["calldata"]
    assert BROKER.public.hex() not in services["calldata"]
    if report["sdk"] == NEWER_FORM:
        assert report["encoded"]["parameters"][2:] in own["calldata"]


def test_a_refusal_of_the_service_reaches_the_caller(report: Any) -> None:
    """Return a refusal of the service to the caller."""
    reason = "invalid request" if report["sdk"] == BOTH_FORMS else "Failed to open swap deposit channel"
    assert reason in report["refused"]
