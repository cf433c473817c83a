"""Names of chains, assets, states and codes are equal everywhere, and type checkers refuse mistyped ones."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest

from cfnode.core.assets import ASSETS, CHAINS, asset_in_text
from cfnode.sdk import (
    Asset,
    AssetName,
    Assets,
    AssetSymbol,
    ChainName,
    Chains,
    ClientClosed,
    ErrorCode,
    FeeKind,
    NetworkName,
    Networks,
    NoQuote,
    Quote,
    SwapSDK,
    SwapState,
    SwapStateV1,
    SwapStatus,
    ValidationError,
)
from cfnode.sdk.calls.quotes import GetQuoteV2, SwapQuote
from cfnode.sdk.lp import LimitOrder, LiquidityProvider
from cfnode.sdk.models.status import FINAL_STATES
from cfnode.sdk.networks import NETWORKS
from cfnode.swaps.documents import status_v1
from scripts.reference import error_classes
from tests.conftest import ROOT
from tests.sdk.forms import Form, all_forms
from tests.sdk.loopback import unused_url
from tests.sdk.scripted import Script, session

ACCEPTED, REFUSED = (ROOT / "tests" / "sdk" / f"names_{kind}.py" for kind in ("accepted", "refused"))
SERVICE = "http://service.test"
QUOTE = {
    "type": "REGULAR",
    "srcAsset": {"chain": "Bitcoin", "asset": "BTC"},
    "destAsset": {"chain": "Arbitrum", "asset": "USDC"},
    "depositAmount": "10000000",
    "egressAmount": "9876543210",
    "estimatedPrice": "98765.4321",
}


def texts(alias: Any) -> list[str]:
    """Return all names of a type, those of its enum included."""
    if isinstance(alias, str):
        return [alias]
    return [text for part in get_args(alias) or list(alias) for text in texts(part)]


def typed(report: str) -> list[int]:
    """Return the lines of REFUSED in which a type checker found an error."""
    return sorted({int(line) for line in re.findall(r"names_refused\.py:(\d+):.*\berror\b", report)})


def marked() -> list[int]:
    """Return the lines that a type checker has to refuse."""
    lines = REFUSED.read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("  # refused")]


def checked(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a type checker."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.world
def test_mypy_refuses_each_mistyped_name_and_no_valid_one() -> None:
    """Have mypy refuse exactly the marked lines of over twenty mistyped names."""
    mypy = sys.executable, "-m", "mypy", "--strict"
    accepted, refused = checked(*mypy, ACCEPTED), checked(*mypy, REFUSED)
    assert accepted.returncode == 0, accepted.stdout
    assert typed(refused.stdout) == marked()
    assert len(marked()) > 20


def test_pyright_refuses_each_mistyped_name_and_no_valid_one(pyright: Path) -> None:
    """Have pyright refuse exactly the marked lines."""
    command = "node", pyright, "--pythonpath", sys.executable
    accepted, refused = checked(*command, ACCEPTED), checked(*command, REFUSED)
    assert accepted.returncode == 0, accepted.stdout
    assert typed(refused.stdout) == marked()


def test_the_types_have_the_names_of_the_chain_and_no_others() -> None:
    """Type exactly the names of chains, assets and networks that the code knows."""
    assert set(texts(ChainName)) == set(Chains) == set(CHAINS)
    assert set(texts(AssetSymbol)) == set(Assets) == {asset.symbol for asset in ASSETS.values()}
    assert set(texts(NetworkName)) == set(Networks) == set(NETWORKS)
    assert list(Asset) == list(ASSETS)
    assert {asset_in_text(text).name for text in texts(AssetName)} == set(ASSETS)
    pairs = {f"{asset.chain}/{asset.symbol}" for asset in ASSETS.values()}
    alone = {name.upper() for name, asset in ASSETS.items() if name.upper() == asset.symbol}
    assert set(texts(AssetName)) == set(ASSETS) | pairs | alone


def test_the_states_are_those_of_the_swap_service() -> None:
    """Type the states that the swap service gives, in both versions, and its fees."""
    assert set(texts(SwapState)) == set(status_v1._STATES)
    assert set(texts(SwapStateV1)) >= {*status_v1._STATES.values(), "SWAP_EXECUTED", "BROADCAST_ABORTED"}
    assert set(FINAL_STATES) < set(texts(SwapState))
    assert {"INGRESS", "NETWORK", "EGRESS", "BOOST", "BROKER"} < set(texts(FeeKind))


def test_the_codes_are_those_of_the_errors() -> None:
    """Type exactly the codes that the SDK's errors have."""
    assert set(texts(ErrorCode)) == {error.code for error in error_classes()} | {"SDK"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ArbUsdc", "ArbUsdc"),
        ("arbitrum/usdc", "ArbUsdc"),
        ("BTC", "Btc"),
        (" eth ", "Eth"),
        ("sol:usdt", None),
    ],
)
def test_an_asset_of_a_text_in_any_form(text: str, name: str | None) -> None:
    """Read an asset in any form and case, and give its chain, symbol and decimals."""
    if name is None:
        with pytest.raises(ValidationError, match=r"asset: Unknown asset 'sol:usdt'"):
            Asset(text)
    else:
        assert Asset(text) == name
        assert (Asset(text).chain, Asset(text).symbol) == (ASSETS[name].chain, ASSETS[name].symbol)
        assert Asset(text).decimals == ASSETS[name].decimals


def test_a_name_of_a_text_in_any_case() -> None:
    """Read a name in any case, and suggest one that is spelled alike."""
    assert (Chains("bitcoin"), Assets(" usdc "), Networks("DEV")) == ("Bitcoin", "USDC", "dev")
    for enum, text, words in (
        (Chains, "Bitcon", "chain: unknown chain 'Bitcon'; did you mean Bitcoin?"),
        (Assets, "USDX", "asset: unknown asset 'USDX'; did you mean USD"),
        (Networks, "mainet", "network: unknown network 'mainet'; did you mean mainnet?"),
    ):
        with pytest.raises(ValidationError, match=re.escape(words)):
            enum(text)


def test_members_and_texts_are_one_name_in_requests() -> None:
    """Treat an enum's member and its text as one name in requests."""
    quote = Quote.from_json(QUOTE)
    named = LimitOrder(Asset.ArbUsdc, "sell", 1, "2.5", tick=0)
    assert named == LimitOrder("arbitrum/usdc", "sell", 1, 2_500_000, tick=0)  # type: ignore[arg-type]
    assert (quote.src_asset.chain, quote.type) == (Chains.Bitcoin, "REGULAR")
    with SwapSDK(network=Networks.dev) as by_enum, SwapSDK(network="dev") as by_text:
        assert by_enum.session.options == by_text.session.options


@pytest.mark.parametrize("name", [5, None, ["Bitcoin"]])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    """Name the parameter that is no text."""
    with pytest.raises(ValidationError) as caught:
        GetQuoteV2(name, "BTC", "Ethereum", "ETH", 1)
    assert caught.value.field == "src_chain"


def test_a_state_of_a_newer_service_is_kept() -> None:
    """Keep a state that a newer service gives, and do not take it for final."""
    status = SwapStatus.from_json({"state": "RETURNING"})
    assert (status.state, status.is_final) == ("RETURNING", False)
    assert status.to_json()["state"] == "RETURNING"


@pytest.mark.parametrize("amount", ["0.1", Decimal("0.10"), 10_000_000])
def test_a_short_quote_asks_for_base_units_of_both_assets(amount: str | Decimal | int) -> None:
    """Ask by amounts in base units, and give whole units of both assets back."""
    script = Script(pages={"/v2/quote": (200, [QUOTE])})
    quote = script.run(SwapQuote("BTC", "arbitrum.usdc", amount), session(backend_url=SERVICE))
    query = dict(script.calls[0].query)
    assert query["amount"] == "10000000"
    names = ("srcChain", "srcAsset", "destChain", "destAsset")
    assert [query[name] for name in names] == ["Bitcoin", "BTC", "Arbitrum", "USDC"]
    assert (quote.whole_deposit_amount, quote.whole_egress_amount) == (Decimal("0.1"), Decimal("9876.54321"))


@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        (("BTX", "ETH", "0.1"), "source", "Unknown asset 'BTX'"),
        (("BTC", "EHT", "0.1"), "destination", "Unknown asset 'EHT'"),
        (("BTC", "ETH", 0.1), "amount", 'expected text or a Decimal, which are exact: "0.1"'),
        (("BTC", "ETH", "0.123456789"), "amount", "BTC has 8 decimals, and 0.123456789 has more"),
        (("BTC", "ETH", "0"), "amount", "expected an amount above 0"),
        (("BTC", "ETH", "1_0"), "amount", "expected a decimal number"),
        (("BTC", "ETH", True), "amount", "expected a decimal number"),
    ],
)
def test_a_mistyped_short_quote_sends_nothing(arguments: tuple[Any, ...], field: str, words: str) -> None:
    """Name the mistyped asset or amount, and send nothing."""
    script = Script()
    with pytest.raises(ValidationError, match=re.escape(words)) as caught:
        script.run(SwapQuote(*arguments), session(backend_url=SERVICE))
    assert (caught.value.field, script.calls) == (field, [])


def test_a_short_quote_without_a_regular_one() -> None:
    """Raise NoQuote where the service has no regular quote."""
    script = Script(pages={"/v2/quote": (200, [])})
    with pytest.raises(NoQuote, match="no REGULAR quote"):
        script.run(SwapQuote("BTC", "ETH", "0.1"), session(backend_url=SERVICE))


@all_forms
def test_a_closed_client_raises_an_error_of_the_sdk(form: Form) -> None:
    """Raise ClientClosed for a call after the client was closed, even twice."""

    async def late(sdk: Any) -> None:
        await sdk.close()
        await sdk.close()
        await sdk.get_channel_opening_fees()

    url = unused_url()
    with pytest.raises(ClientClosed, match="the client is closed") as caught:
        form(late, {"network": "dev", "rpcUrl": url})
    assert caught.value.code == "CLOSED"


@all_forms
def test_a_watch_of_a_closed_client_ends_at_once(form: Form) -> None:
    """Raise ClientClosed from a watch that begins after the closing."""

    async def late(sdk: Any) -> None:
        await sdk.close()
        statuses = sdk.watch_status("1-Bitcoin-2", seconds=0)
        if hasattr(statuses, "__aiter__"):
            await anext(statuses)
        else:
            next(await statuses)

    with pytest.raises(ClientClosed):
        form(late, {"network": "dev", "rpcUrl": unused_url()})


def test_a_closed_client_of_a_market_maker_raises_an_error_of_the_sdk() -> None:
    """Raise ClientClosed from the market maker's client and from its stream of fills."""
    lp = LiquidityProvider(unused_url())
    lp.close()
    with pytest.raises(ClientClosed):
        lp.get_pools()
    with pytest.raises(ClientClosed):
        next(lp.fills())
