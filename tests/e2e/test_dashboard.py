"""The operator's page in a real Chromium: a swap goes through its states, on a wide screen and on a phone."""

from __future__ import annotations

import io
import json
import os
import shlex
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import segno
import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Follower, Source
from cfnode.ledger.partners.access import authorize
from cfnode.ledger.partners.registry import Partner, add
from cfnode.ledger.reports import Period, report
from cfnode.ledger.webhooks import queue
from cfnode.ledger.webhooks import registry as webhooks
from cfnode.swaps.checksums import checksum_text
from cfnode.testing import DevChain, running_node
from tests.conftest import PEERS, ROOT
from tests.documentation import block
from tests.e2e.attacker import running_attacker
from tests.e2e.browser import Browser, running_browser
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS, play
from tests.lengths import only_whole
from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

AXE = PEERS / "node" / "node_modules" / "axe-core" / "axe.min.js"
GUIDE = "docs/guide/web-page.md"
PICTURES = ROOT / "docs" / "guide"
WIDE, PHONE = (1280, 860), (390, 844)
PATIENCE_S = 60.0
TAB, ENTER = "\ue004", "\ue007"
PAGES = (
    *("", "swaps", "swaps?state=x&first=soon", "find?term=x", "figures", "channels", "payouts", "partners"),
    *("partners/green-wallet", "webhooks"),
    *("statements", "statements/file?period=x", "health", "dev", "blocks", "blocks/30"),
)
ETHER = 10**18


@dataclass
class Site:
    """A chain, its books, the service with its page, and a browser that has logged in."""

    chain: DevChain
    url: str
    browser: Browser
    database: Database
    node: str

    def open(self, path: str, size: tuple[int, int] = WIDE) -> None:
        """Show a page at a size."""
        self.browser.resize(*size)
        self.browser.open(f"{self.url}/web/{path}")

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.browser.run(f"arguments[arguments.length - 1]({expression})")

    def until(self, expression: str) -> None:
        """Wait until an expression is true in the page; it loads nothing by itself."""
        wait_until(lambda: self.ask(expression), expression)

    def send(self, form: str, **fields: str) -> str:
        """Fill and send a form of the controls; what the next page says."""
        self.open("dev")
        for name, value in fields.items():
            self.browser.run(
                "document.querySelector(arguments[0]).value = arguments[1]; arguments[2]()",
                f"form[action$='/dev/{form}'] [name={name}]",
                value,
            )
        button = f"document.querySelector(\"form[action$='/dev/{form}'] button\")"
        self.ask(f"setTimeout(() => {button}.click(), 0) && 1")
        self.until("document.querySelector('[role=status]') !== null")
        return str(self.ask("document.querySelector('[role=status]').textContent"))


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Path]:
    """Yield a command of cfnode in a process of its own; its log."""
    log = folder / f"{arguments[0]}.log"
    with log.open("wb") as stream:
        environment = os.environ | {"XDG_DATA_HOME": str(folder)}
        command = [sys.executable, "-P", "-m", "cfnode", *arguments]
        process = subprocess.Popen(command, stderr=stream, stdout=stream, cwd=ROOT, env=environment)
    try:
        yield log
    finally:
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 0, log.read_text()
        assert "Traceback" not in log.read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield a chain that was played, its books and service, and a browser that has logged in."""
    folder = tmp_path_factory.mktemp("dashboard")
    url = sqlite_url(folder / "books.sqlite")
    with (
        running_browser(folder) as browser,
        running_node(folder, "--state-pruning=archive") as node,
        DevChain(node.url) as chain,
    ):
        play(node.url, chain)
        database = Database(url)
        database.migrate()
        webhook, _ = webhooks.add(database, "http://127.0.0.1:9/hooks")
        trio.run(lambda: Follower(Source(node.url, first=1), Books(database)).run(once=True))
        for claim in queue.claimed(database, webhook, time.time_ns() // 1_000_000, 1_000, 2):
            refused = queue.Attempt(503, "answered 503", "down for maintenance", 87)
            queue.mark(database, claim, refused, time.time_ns() // 1_000_000, 3_600_000)
        add(database, Partner("green-wallet", 15, budget=200 * ETHER))
        add(database, Partner("harbour-exchange", 25, assets=frozenset({"Btc", "Eth", "Usdc"})))
        port = free_port()
        _, ledger, service = block(GUIDE, "cfnode run --dev").splitlines()
        with (
            running(folder, *_arguments(ledger, node.url, url)),
            running(folder, *_arguments(service, node.url, url), "--listen", f"127.0.0.1:{port}") as log,
        ):
            wait_until(lambda: "Swap service: http" in log.read_text(), "the service listens")
            new_site = Site(chain, f"http://127.0.0.1:{port}", browser, database, node.url)
            _log_in(new_site, (folder / "web-token").read_text().strip(), log)
            yield new_site
        database.close()


def _arguments(line: str, node: str, database: str) -> list[str]:
    """Return the command of a line of the guide, for this node and these books."""
    program, *arguments = shlex.split(line.removesuffix(" &"))
    assert program == "cfnode"
    return [database if argument == "sqlite:///books.sqlite" else argument for argument in arguments] + [
        "--node",
        node,
    ]


def _log_in(site: Site, token: str, log: Path) -> None:
    site.open("")
    site.browser.logged("browser"), site.browser.requested()
    assert site.ask("document.activeElement.id") == "token"
    site.browser.press(*token, ENTER)
    site.until("location.pathname === '/web/' && document.querySelector('h1').textContent === 'Now'")
    assert token not in log.read_text()
    assert site.ask("document.cookie") == ""


def keep_picture(site: Site, name: str) -> None:
    """Keep a picture for the guide, if CFNODE_TEST_WRITE is set."""
    if os.environ.get("CFNODE_TEST_WRITE"):
        (PICTURES / f"web-page-{name}.png").write_bytes(smaller(site.browser.screenshot()))


def smaller(png: bytes) -> bytes:
    """Return a picture compressed as far as possible."""
    parts, place = [(b"IHDR", png[16:29])], 33
    pixels = b""
    while place < len(png):
        (size,), kind = struct.unpack(">I", png[place : place + 4]), png[place + 4 : place + 8]
        if kind == b"IDAT":
            pixels += png[place + 8 : place + 8 + size]
        place += size + 12
    parts += [(b"IDAT", zlib.compress(zlib.decompress(pixels), 9)), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return png[:8] + b"".join(chunks)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_swap_goes_through_its_states_without_a_reload(site: Site, size: tuple[int, int]) -> None:
    """Take a swap through its states on the open page, without a reload or a page too wide."""
    chain = site.chain
    channel = chain.broker.open_channel("Eth", "Btc", BTC_ADDRESS, refund_address=EVM_ADDRESS)
    chain.rpc("dev_holdBroadcasts", "Bitcoin", True)
    site.open("", size)
    site.ask("window.unchanged = 1")
    known = site.ask("[...document.querySelectorAll('tbody tr')].map(row => row.id)")
    chain.deposit(channel["address"], "Eth", 2 * ETHER)
    row = f"[...document.querySelectorAll('tbody tr')].find(row => !{json.dumps(known)}.includes(row.id))"
    shown_states = []
    for _ in range(20):
        chain.new_block()
        chain.finalize()
        head = int(chain.rpc("chain_getHeader")["number"], 16)
        site.until(f"document.getElementById('block').textContent.split(' · ')[0] === 'Block {head}'")
        site.until(f"document.querySelector('#today .tiles > div:last-child').textContent.includes('{head}')")
        state = site.ask(f"({row})?.dataset.state ?? null")
        if state not in shown_states:
            shown_states.append(state)
        if state == "swapping":
            keep_picture(site, "now-phone" if size == PHONE else "now")
        if state == "signing":
            chain.rpc("dev_holdBroadcasts", "Bitcoin", False)
        if state == "paid":
            break
    states = [state for state in shown_states if state is not None]
    assert states[:2] == ["swapping", "signing"]
    assert states[-1] == "paid"
    assert site.ask("window.unchanged") == 1
    assert site.ask("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        pytest.param(WIDE, "light", id="wide-light"),
        pytest.param(PHONE, "dark", id="phone-dark"),
        pytest.param(WIDE, "dark", id="wide-dark", marks=only_whole),
        pytest.param(PHONE, "light", id="phone-light", marks=only_whole),
    ],
)
def test_every_page_is_accessible(site: Site, size: tuple[int, int], theme: str) -> None:
    """Find no fault by axe on any page, in any size and theme."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: scripts/peers")
    site.browser.prefer(theme)
    script = AXE.read_text() + (
        ";const done = arguments[arguments.length - 1]; axe.run(document).then(result => "
        "done(result.violations.map(violation => [violation.id, violation.nodes.map(node => node.html)])))"
    )
    for path in (*PAGES, *_details(site)):
        site.open(path, size)
        site.until("document.querySelector('h1') !== null")
        assert site.browser.run(script) == [], path
        assert site.ask("document.documentElement.scrollWidth") <= size[0], path
        assert site.ask("document.querySelectorAll('main, h1').length") == 2, path
    ground = site.ask("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(18, 21, 23)") == (theme == "dark")


def _details(site: Site) -> list[str]:
    """Return the pages of the swap whose payout failed, of its channel, of a webhook, and of a delivery."""
    swap = next(record for record in report(site.database, "swaps", Period()) if record["state"] == "failed")
    (hook,) = rows(site.database, "webhooks")
    hooks = [f"webhooks/{hook['id']}", f"webhooks/{hook['id']}/1"]
    return [f"swaps/{swap['request']}", f"channels/{swap['channel_id']}", *hooks]


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_customers_transaction_leads_to_the_swap(site: Site, size: tuple[int, int]) -> None:
    """Find the swap by a customer's transaction, with the command that recovers it."""
    (path, *_), transactions = _details(site), rows(site.database, "deposits")
    number = int(path.partition("/")[2])
    transaction = next(
        transaction["transaction"] for transaction in transactions if transaction["request"] == number
    )
    site.browser.prefer("light")
    site.open("", size)
    site.ask("document.getElementById('term').focus() || 1")
    site.browser.press(*transaction, ENTER)
    site.until(f"location.pathname === '/web/{path}' && document.querySelector('[data-state]') !== null")
    assert site.ask("document.querySelector('[data-state]').dataset.state") == "failed"
    assert "cfnode recover" in site.ask("document.querySelector('pre').textContent")
    assert transaction in site.ask("document.getElementById('swap').textContent")
    fits = "[...document.querySelectorAll('.scroll')].every(table => table.scrollWidth <= table.clientWidth)"
    assert size != PHONE or site.ask(fits)
    assert site.ask("document.documentElement.scrollWidth") <= size[0]
    keep_picture(site, "swap-phone" if size == PHONE else "swap")


def test_the_list_is_filtered_and_paged_by_its_form(site: Site) -> None:
    """Filter the list by its form."""
    site.open("swaps", PHONE)
    site.ask("document.getElementById('state').value = 'refunded'")
    site.ask("setTimeout(() => document.querySelector('form.filter button').click(), 0) && 1")
    site.until("location.search.includes('state=refunded') && document.querySelector('tbody tr') !== null")
    states = site.ask("[...document.querySelectorAll('tbody tr')].map(row => row.dataset.state)")
    assert set(states) == {"refunded"}
    assert site.ask("document.getElementById('state').value") == "refunded"
    assert site.ask("document.documentElement.scrollWidth") <= PHONE[0]
    site.open("swaps")
    keep_picture(site, "swaps")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_webhook_is_tested_and_its_delivery_is_read(site: Site, size: tuple[int, int]) -> None:
    """By the buttons of its page; no secret is on it."""
    (hook,) = rows(site.database, "webhooks")
    site.browser.prefer("light")
    site.open(f"webhooks/{hook['id']}", size)
    button = "document.querySelector(\"form[action$='/test'] button\")"
    site.ask(f"setTimeout(() => {button}.click(), 0) && 1")
    site.until("document.querySelector('[role=status]') !== null")
    assert "is a test" in site.ask("document.querySelector('[role=status]').textContent")
    assert "webhook.test" in site.ask("document.getElementById('deliveries').textContent")
    assert "whsec_" not in site.ask("document.documentElement.outerHTML")
    if size == WIDE:
        keep_picture(site, "webhook")
    assert site.ask("document.documentElement.scrollWidth") <= size[0]
    site.open(f"webhooks/{hook['id']}/1", size)
    assert "down for maintenance" in site.ask("document.getElementById('delivery').textContent")
    if size == WIDE:
        keep_picture(site, "delivery")
    assert site.ask("document.documentElement.scrollWidth") <= size[0]


def test_a_partner_is_added_on_a_phone(site: Site) -> None:
    """The form with a fault keeps what was typed; the key is on one page only."""
    site.open("partners", PHONE)
    site.ask("document.getElementById('name').value = 'lagoon wallet'")
    send = "document.querySelector(\"form[action$='/partners'] button\")"
    site.ask(f"setTimeout(() => {send}.click(), 0) && 1")
    site.until("document.querySelector('[aria-invalid]') !== null")
    assert site.ask("document.getElementById('name').value") == "lagoon wallet"
    site.ask("document.getElementById('name').value = 'lagoon'")
    site.ask(f"setTimeout(() => {send}.click(), 0) && 1")
    site.until("document.getElementById('secret-text') !== null")
    key = site.ask("document.getElementById('secret-text').textContent")
    assert isinstance(authorize(site.database, key), Partner)
    assert site.ask("document.documentElement.scrollWidth") <= PHONE[0]
    site.open("partners/lagoon", PHONE)
    assert key not in site.ask("document.documentElement.outerHTML")


def test_the_theme_is_chosen_by_its_buttons(site: Site) -> None:
    """Choose the theme by its buttons, and stay on the page."""
    site.browser.prefer("light")
    for theme, ground in (("dark", "rgb(18, 21, 23)"), ("light", "rgb(246, 246, 243)"), ("auto", None)):
        site.open("partners")
        site.ask(f"setTimeout(() => document.querySelector('[value={theme}]').click(), 0) && 1")
        site.until(f"document.documentElement.dataset.theme === '{theme}'")
        assert site.ask("location.pathname") == "/web/partners"
        if ground is not None:
            assert site.ask("getComputedStyle(document.body).backgroundColor") == ground


def test_everything_is_reached_by_keyboard_and_the_focus_is_seen(site: Site) -> None:
    """Reach everything by keyboard with a visible focus, and skip to the content."""
    site.open("figures")
    site.browser.press(TAB)
    assert site.ask("document.activeElement.className") == "skip"
    assert site.ask("document.activeElement.getBoundingClientRect().top >= 0")
    wanted = site.ask(
        "document.querySelectorAll('a[href], button, input:not([type=hidden]), [tabindex=\"0\"]').length"
    )
    reached = 1
    for _ in range(wanted - 1):
        site.browser.press(TAB)
        assert site.ask("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto")
        reached += 1
        if site.ask("document.activeElement.textContent").startswith("Log out"):
            break
    assert reached == wanted
    site.open("")
    site.browser.press(TAB, ENTER)
    assert site.ask("document.activeElement.id") == "content"


def test_a_page_that_is_replaced_keeps_focus_and_what_was_opened(site: Site) -> None:
    """Keep focus and what was opened when the page is replaced."""
    first = site.chain.broker.open_channel("Btc", "Eth", EVM_ADDRESS, refund_address=BTC_ADDRESS)
    site.chain.new_block()
    site.chain.finalize()
    site.open("channels")
    name = f"code-Bitcoin-{first['channel_id']}"
    site.until(f"document.getElementById('{name}') !== null")
    opened = f"document.getElementById('{name}').firstElementChild"
    site.ask(f"{opened}.click() || {opened}.focus() || 1")
    second = site.chain.broker.open_channel("Eth", "Btc", BTC_ADDRESS, refund_address=EVM_ADDRESS)
    site.chain.new_block()
    site.chain.finalize()
    site.until(f"document.getElementById('code-Ethereum-{second['channel_id']}') !== null")
    assert site.ask(f"document.getElementById('{name}').open")
    assert site.ask(f"document.activeElement === {opened}")


def test_the_code_of_a_channel_is_its_address(site: Site) -> None:
    """Draw a channel's address as its code, byte for byte."""
    site.open("channels")
    link = site.ask("document.querySelector('.channel-list a').getAttribute('href')")
    site.open(link.removeprefix("/web/"))
    address = site.ask("document.querySelector('.facts code').textContent")
    drawn = site.ask(
        "(() => { const image = document.querySelector('img.code'); return [image.complete, image.alt] })()"
    )
    assert drawn == [True, f"QR code of {address}"]
    script = (
        "const done = arguments[arguments.length - 1]; fetch(document.querySelector('img.code').src)"
        ".then(answer => answer.text()).then(done)"
    )
    out = io.BytesIO()
    segno.make(address, error="m", micro=False).save(
        out, kind="svg", scale=4, border=4, light="#fff", dark="#000", xmldecl=False
    )
    assert site.browser.run(script) == out.getvalue().decode()
    keep_picture(site, "channel")


def test_the_controls_play_a_failure_and_the_page_has_the_command_that_recovers_it(site: Site) -> None:
    """Play a failure by the controls, and recover it by the command that the page prints."""
    chain = site.chain
    receiver = checksum_text("0x" + "5f" * 20)
    channel = chain.broker.open_channel("Btc", "Eth", receiver, refund_address=BTC_ADDRESS)
    said = site.send("receiver", address=receiver, asset="Eth")
    assert said == f"Transfers of ETH to {receiver} fail from now on."
    assert site.send("price", asset="Btc", price="61000.5") == "The pool's price of BTC is 61000.5 USDC now."
    wrong = site.send("deposit", address="nowhere", asset="Btc", amount="1")
    assert "(Dev.WrongChain); give an address of the asset's chain" in wrong
    assert "The address is none of the asset's chain" in wrong
    assert site.send("deposit", address=channel["address"], asset="Btc", amount="0.5").startswith(
        "Deposited 0.5 BTC"
    )
    assert site.send("blocks", count="9") == "Sealed 9 blocks."
    assert site.send("time", seconds="3600").startswith("Moved the chain's clock 3600 s forward")
    assert site.send("finality") == "Finalized the best block."
    keep_picture(site, "controls")
    site.open("payouts")
    site.until(f"document.body.textContent.includes('{receiver}')")
    command = site.ask("document.querySelector('pre').textContent")
    keep_picture(site, "payouts")
    arguments = command.split()
    assert arguments[:2] == ["cfnode", "recover"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", *arguments], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert receiver.lower() in done.stdout.lower()


def test_the_explorer_has_each_block_with_its_events_and_extrinsics(site: Site) -> None:
    """List each block's events and extrinsics as the chain has them, and refuse unknown blocks."""
    block = site.chain.rpc("chain_getBlockHash", 30)
    events = [f"{event['pallet']}.{event['name']}" for event in site.chain.events(block)]
    for path in ("blocks/30", f"blocks/{block}"):
        site.open(path)
        selector = "document.querySelectorAll('section[aria-labelledby=events-title] b')"
        names = site.ask(f"[...{selector}].map(element => element.textContent)")
        assert names == events
        assert site.ask("document.body.textContent").count("Timestamp.set") == 1
    site.open("blocks")
    assert site.ask("document.querySelectorAll('tbody tr').length") == 25
    for path in ("blocks/999999", "blocks/0x" + "00" * 32, "blocks/x"):
        site.open(path)
        assert site.ask("document.querySelector('h1').textContent") == "Request failed", path
    site.browser.logged("browser")  # a page that is not found is an entry


def test_the_figures_are_drawn_and_written(site: Site) -> None:
    """Draw the figures in the colors of their legend."""
    site.open("figures?days=7")
    assert site.ask("document.querySelectorAll('figure svg').length") == 4
    assert site.ask("document.querySelectorAll('figure svg .bar rect').length") > 0
    fill = site.ask("getComputedStyle(document.querySelector('.color-0 rect')).fill")
    assert fill == site.ask("getComputedStyle(document.querySelector('.legend .color-0')).backgroundColor")
    keep_picture(site, "volumes")
    site.open("health")
    keep_picture(site, "health")
    site.open("partners", PHONE)
    keep_picture(site, "partners-phone")


def test_nothing_left_the_machine_and_the_console_is_empty(site: Site) -> None:
    """Of all pages that the tests above have opened."""
    urls = [url for url in site.browser.requested() if not url.startswith(("chrome:", "data:"))]
    assert len(urls) > 50
    assert {urlsplit(url).netloc for url in urls} == {urlsplit(site.url).netloc}
    entries = [entry["message"] for entry in site.browser.logged("browser")]
    assert [text for text in entries if "404" not in text] == []


def test_a_page_of_another_site_controls_nothing_in_the_operators_browser(site: Site) -> None:
    """The browser has a session; a foreign page, and one of this machine, send the forms of the controls."""
    before = site.chain.rpc("chain_getBlockHash")
    send = (
        "const [url, done] = [arguments[0], arguments[1]]; const body = new URLSearchParams({count: '1'});"
        "fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include', body}).then("
        "answer => done(answer.type), error => done(String(error)))"
    )
    submit = (
        "const form = document.createElement('form'); form.method = 'POST'; form.action = arguments[0];"
        "form.innerHTML = '<input name=count value=1>'; document.body.append(form);"
        "setTimeout(() => form.submit(), 0); arguments[1]()"
    )
    with running_attacker() as attacker:
        for origin in (f"http://evil.test:{attacker.port}/", f"http://localhost:{attacker.port}/"):
            for script in (send, submit):
                site.browser.open(origin)
                site.browser.run(script, f"{site.url}/web/dev/blocks")
            site.until("location.pathname.startsWith('/web/')")
            title = site.ask("document.querySelector('h1').textContent")
            assert title in ("Log in", "Request failed"), origin
        site.browser.open(site.url.replace("127.0.0.1", "rebound.test") + "/web/")
        assert "Provided Host header is not whitelisted" in site.ask("document.body.textContent")
    assert site.chain.rpc("chain_getBlockHash") == before
    site.open("")
    assert site.ask("document.querySelector('h1').textContent") == "Now"
