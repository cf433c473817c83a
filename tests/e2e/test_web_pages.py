"""A hostile page in a real Chromium: what it sends to a node with the keys of two accounts spends nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.testing import DevChain
from tests.e2e.attacker import PAGE, Attacker, running_attacker
from tests.e2e.browser import Browser, running_browser
from tests.e2e.conftest import OFFICIAL_FLAGS
from tests.process import NodeProcess, running_node
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

SCRIPT = (Path(__file__).parent / "attacks.js").read_text()
COMMON = ("--dev", "--dev-seal=instant", "--dev-broker=//Alice", "--dev-lp=//Bob")
PROVIDER = ss58.encode(Keypair.from_suri("//Bob").account, 2112)
THIEF = "0x" + "66" * 20
REFUND = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
BTC, ETH, USDC = ("Bitcoin", "BTC"), ("Ethereum", "ETH"), ("Ethereum", "USDC")
OFFICIAL = tuple(flag for flag in OFFICIAL_FLAGS if flag != "--sync=light-rpc")
"""Light mode begins with an empty database, and the broker here has earned fees."""
NODES = {
    "default flags": (),
    "official flags": OFFICIAL,
    "default flags, tokens": ("--rpc-auth-token-file={tokens}",),
    "official flags, tokens": (*OFFICIAL, "--rpc-auth-token-file={tokens}"),
}
PAGES = {
    "foreign": "http://evil.test:{attacker}/",
    "of this machine": "http://localhost:{attacker}/",
    "sandboxed": "http://evil.test:{attacker}/sandboxed",
    "a file": "file://{file}",
    "a name rebound to the node": "http://rebound.test:{node}/page",
}
WITHOUT_ORIGIN = {"fetch, no-cors, GET", "form, GET", "frame", "image", "script"}
"""A browser leaves the Origin out of a GET alone, and a GET calls no method."""
THROUGH = {
    "fetch, JSON", "fetch, JSON, without referrer", "fetch, JSON, redirected", "fetch, JSON, in a worker",
    "XMLHttpRequest, JSON", "WebSocket", "WebSocket, with a password",
}  # fmt: skip
"""The ways open to a page whose origin is listed by name. No page may send credentials, as a beacon of JSON
does, and the content types of forms are refused."""


def asset(pair: tuple[str, str]) -> dict[str, str]:
    """Return an asset as parameters have it."""
    return {"chain": pair[0], "asset": pair[1]}


def spending(commission: int) -> list[dict[str, Any]]:
    """Return calls by which a thief takes the money: a channel, the fees, and addresses for refunds."""
    calls = {
        "broker_request_swap_deposit_address": {
            "source_asset": asset(BTC),
            "destination_asset": asset(ETH),
            "destination_address": THIEF,
            "broker_commission": commission,
            "refund_parameters": {"retry_duration": 0, "refund_address": REFUND, "min_price": "0x0"},
        },
        "broker_withdraw_fees": {"asset": asset(USDC), "destination_address": THIEF},
        "broker_bind_fee_withdrawal_address": {"address": THIEF},
        "lp_register_liquidity_refund_address": {"chain": "Ethereum", "address": THIEF},
    }
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(calls.items())
    ]


@dataclass
class Page:
    """A page that is open in the browser."""

    browser: Browser
    attacker: Attacker

    @property
    def ways(self) -> list[str]:
        """All ways to send something."""
        names: list[str] = self._run("", "http://127.0.0.1/")
        assert len(names) == 29
        return names

    def attack(self, way: str, url: str) -> str:
        """Send the spending calls from the page, and return the part of the answers that the page sees."""
        answer: str = self._run(way, url)
        assert answer != "no result in time", way
        return answer

    def _run(self, way: str, url: str) -> Any:
        redirector = f"http://evil.test:{self.attacker.port}/redirect"
        return self.browser.run(SCRIPT, way, url, json.dumps(spending(100)), redirector)


def affairs(node: NodeProcess, account: str) -> dict[str, Any]:
    """Return the chain's data of both accounts, and its best block: here each transaction makes a block."""
    return {
        "head": node.call("chain_getBlockHash"),
        "pool": node.call("author_pendingExtrinsics"),
        "nonce": node.call("system_accountNextIndex", account),
        "info": node.call("cf_account_info", account),
        "provider": node.call("cf_account_info", PROVIDER),
    }


@dataclass(frozen=True)
class Shop:
    """The stopped chain of a broker that has earned fees, its account, and the number of the newest block."""

    base: Path
    account: str
    newest: int


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Return a stopped chain whose broker has earned fees."""
    folder = tmp_path_factory.mktemp("shop")
    with running_node(folder, *COMMON) as node, DevChain(node.url) as chain:
        chain.new_block()  # registers both accounts
        terms = spending(100)[0]["params"]
        channel = chain.rpc("broker_request_swap_deposit_address", *_in_order(terms))
        chain.deposit(channel["address"], asset(BTC), 10_000_000)
        chain.advance_to("Swapping", "SwapExecuted")
        account = next(account["account_id"] for account in chain.rpc("cf_all_account_infos", ["Broker"]))
        newest = height(node)
        node.stop()
    return Shop(folder / "base", account, newest)


def height(node: NodeProcess) -> int:
    """Return the number of the newest block."""
    return int(node.call("chain_getHeader")["number"], 16)


@contextmanager
def opened(shop: Shop, folder: Path, *flags: str) -> Iterator[NodeProcess]:
    """Yield a node with these flags, both keys, and a copy of the chain, after the block of its own start."""
    shutil.copytree(shop.base, folder / "base")
    with running_node(folder, *COMMON, *flags) as node:
        wait_until(lambda: height(node) > shop.newest, "a node with instant seal begins with a block")
        assert int(node.call("cf_account_info", shop.account)["earned_fees"]["Ethereum"]["USDC"], 16) > 0
        yield node


def _in_order(terms: dict[str, Any]) -> list[Any]:
    missing = dict.fromkeys(("channel_metadata", "boost_fee", "affiliate_fees"))
    *first, refund = terms.values()
    return [*first, *missing.values(), refund]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Yield a page in a browser, with its attacker."""
    with running_attacker() as attacker, running_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield Page(browser, attacker)


@pytest.fixture(scope="module", params=NODES)
def node(
    request: pytest.FixtureRequest, page: Page, shop: Shop, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NodeProcess]:
    """Yield a node with these flags on a copy of the chain."""
    folder = tmp_path_factory.mktemp("node")
    tokens = folder / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(f"shop broker {'t' * 32}\n")
    flags = [flag.format(tokens=tokens) for flag in NODES[request.param]]
    with opened(shop, folder, *flags) as running:
        yield running


def open_page(page: Page, kind: str, folder: Path, node_url: str = "") -> None:
    """Open a page of a kind."""
    file = folder / "page.html"
    file.write_bytes(PAGE)
    port = node_url.rpartition(":")[2]
    page.browser.open(PAGES[kind].format(attacker=page.attacker.port, file=file, node=port))


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_spends_nothing(page: Page, shop: Shop, node: NodeProcess, kind: str, tmp_path: Path) -> None:
    """Spend nothing by any way in which a hostile page can send calls."""
    before = affairs(node, shop.account)
    open_page(page, kind, tmp_path, node.url)
    host = node.url.replace("127.0.0.1", "rebound.test") if "rebound" in kind else node.url
    answers = {way: page.attack(way, host) for way in page.ways}
    assert affairs(node, shop.account) == before, answers
    assert not any("tx_hash" in answer or "channel_id" in answer for answer in answers.values()), answers


@pytest.mark.parametrize("cors", ["{origin}", "all,{origin}"])
def test_the_same_page_gets_through_where_its_origin_is_listed_by_name(
    page: Page, shop: Shop, cors: str, tmp_path: Path
) -> None:
    """Spend from a page whose origin is listed by name, and only by the ways that stay open to it."""
    origin = PAGES["foreign"].format(attacker=page.attacker.port).rstrip("/")
    account = shop.account
    with opened(shop, tmp_path, f"--rpc-cors={cors.format(origin=origin)}") as node:
        open_page(page, "foreign", tmp_path)
        through = set()
        for way in page.ways:
            nonce = node.call("system_accountNextIndex", account)
            page.attack(way, node.url)
            if node.call("system_accountNextIndex", account) > nonce:
                through.add(way)
        any_header = {"fetch, JSON, with a token"} if "all" in cors else set()
        assert through == THROUGH | any_header
        after = node.call("cf_account_info", account)
        assert after["earned_fees"]["Ethereum"]["USDC"] == "0x0"
        assert after["bound_fee_withdrawal_address"] == THIEF
        provider = node.call("cf_account_info", PROVIDER)
        assert provider["refund_addresses"]["Ethereum"] == THIEF


@pytest.mark.parametrize("kind", [kind for kind in PAGES if "rebound" not in kind])
def test_each_way_reaches_a_server_without_checks_and_carries_an_origin(
    page: Page, kind: str, tmp_path: Path
) -> None:
    """Reach a server without checks by each way, which shows that the attacks are real."""
    open_page(page, kind, tmp_path)
    for way in page.ways:
        page.attacker.arrived.clear()
        page.attack(way, f"http://127.0.0.1:{page.attacker.port}/target")
        assert len(page.attacker.arrived) == 1, way
        (request,) = page.attacker.arrived
        assert "broker_withdraw_fees" in request.query + request.body, way
        assert ("origin" in request.headers) == (way not in WITHOUT_ORIGIN), way
        assert "origin" in request.headers or request.method == "GET"
