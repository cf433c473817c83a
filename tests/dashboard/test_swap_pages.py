"""The search leads to a swap or a channel, the list has those that its filter takes, and input stays text."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from sqlalchemy import insert

from cfnode.dashboard.filters import FilterForm
from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.kinds import Owner
from cfnode.ledger.partners.registry import Partner, add
from cfnode.ledger.reports import Period, report
from cfnode.ledger.swap_list import SwapFilter
from cfnode.swaps.checksums import checksum_text
from tests.dashboard.visiting import Visitor, visitor
from tests.ledger.contents import rows
from tests.ledger.day import EVM_ADDRESS, Day
from tests.support.dashboard.pages import HOSTILE, plain, text_of

RECEIVER = checksum_text(EVM_ADDRESS)

SQL = "1' OR '1'='1'; DROP TABLE requests; --"
HOSTILE_TERMS = (
    HOSTILE, SQL, "x" * 10_000, HOSTILE * 180, "%", "_", "\\", "a\0b", "a\nb", "\u202e1", "9" * 18, "9" * 60,
    "0x", "1-Moon-1", "9999999999-Ethereum-99999999999999999999", "\ud800",
)  # fmt: skip


async def found_at(guest: Visitor, term: str) -> str:
    """Return the path to which the search of a term leads."""
    answer = await guest.client.get("/web/find", params={"term": term})
    assert answer.status_code == 303, (term, plain(answer.text))
    return answer.headers["location"].removeprefix("/web")


async def test_each_name_of_a_swap_leads_to_its_page(books: Database, day: Day) -> None:
    """Lead from request number and transaction to the swap's page, with its steps and recovery command."""
    swap = next(record for record in report(books, "swaps", Period()) if record["state"] == "failed")
    deposit = next(row for row in rows(books, "deposits") if row["request"] == swap["request"])
    with visitor(books) as (_, guest):
        await guest.log_in()
        for term in (str(swap["request"]), f"  {deposit['transaction'].upper()} "):
            path = await found_at(guest, term)
            assert path == f"/swaps/{swap['request']}", term
        text = await text_of(guest, path)
        for words in ("Deposit confirmed", "Swap began", "Payout scheduled", "Transaction confirmed",
                      "Receiver rejected the transfer", "1 BTC = ", "Network", swap["destination"],
                      swap["channel_id"], deposit["transaction"]):  # fmt: skip
            assert words in text, words
        assert re.search(r"cfnode recover --node https://node.example ethereum \d+", text)
        assert "Payout failed" in text


async def test_a_channel_has_its_page_open_or_not(books: Database, day: Day) -> None:
    """Lead from id and address, in any case, to the channel's page, with its deposits linked to swaps."""
    channel = next(row for row in rows(books, "channels") if row["chain"] == "Bitcoin")
    name = f"{channel['block']}-Bitcoin-{channel['channel']}"
    with visitor(books) as (_, guest):
        await guest.log_in()
        for term in (name, name.lower(), channel["address"], channel["address"].upper()):
            assert await found_at(guest, term) == f"/channels/{name}", term
        text = await text_of(guest, f"/channels/{name}")
        deposits = [row for row in rows(books, "deposits") if row["opened"] == channel["block"]]
        assert deposits
        for deposit in deposits:
            assert deposit["transaction"] in text
            assert f'href="/web/swaps/{deposit["request"]}"' in (await guest.get(f"/channels/{name}")).text
        for path in (
            "/channels/1-Bitcoin-1",
            "/channels/1-Moon-1",
            "/channels/x",
            "/channels/1-Bitcoin-" + "9" * 20,
        ):
            assert (await guest.get(path)).status_code == 404, path


async def test_an_address_of_several_swaps_leads_to_a_list(books: Database) -> None:
    """List the swaps to an address with several, newest first."""
    numbers = [row["request"] for row in rows(books, "requests") if row["destination"] == RECEIVER]
    with visitor(books) as (_, guest):
        await guest.log_in()
        answer = await guest.client.get("/web/find", params={"term": EVM_ADDRESS.upper()})
        assert answer.status_code == 200
        listed = [int(match) for match in re.findall(r'id="swap-(\d+)"', answer.text)]
        assert set(numbers) <= set(listed)
        assert listed == sorted(listed, reverse=True)


async def test_an_account_leads_to_its_swaps(books: Database, day: Day) -> None:
    """Lead from a broker's account to the list of its swaps, and say where a term matches nothing."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        assert await found_at(guest, day.broker) == f"/swaps?account={day.broker}"
        assert "The books have no match for" in await text_of(guest, "/find?term=unheard-of")


@pytest.mark.parametrize("term", HOSTILE_TERMS)
async def test_any_term_is_only_text(books: Database, term: str) -> None:
    """Find nothing for hostile terms, print them escaped and shortened, and leave the books as they are."""
    before = rows(books, "requests")
    with visitor(books) as (_, guest):
        await guest.log_in()
        asked = {"term": term.encode("utf-8", "surrogatepass")}
        answer = await guest.client.get("/web/find", params=asked)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert len(answer.text) < 20_000
        assert not re.search(r'id="swap-', answer.text)
    assert rows(books, "requests") == before


@pytest.mark.parametrize(
    "name",
    ["state", "source", "target", "least", "most", "partner", "account", "first", "last", "owner"],
)
@pytest.mark.parametrize("text", [HOSTILE, SQL, "x" * 10_000, "a\0b", "9" * 60])
async def test_any_filter_is_only_text(books: Database, name: str, text: str) -> None:
    """List nothing for hostile filters, print them escaped and shortened, and mark the field at fault."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        answer = await guest.client.get("/web/swaps", params={name: text})
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert len(answer.text) < 20_000
        assert not re.search(r'id="swap-', answer.text)
        if name == "partner":
            assert unescape(answer.text).count(text[:100]) or "\0" in text
        else:
            assert "No swap is listed" in answer.text
            assert 'aria-invalid="true"' in answer.text


async def listed_at(guest: Visitor, **fields: str) -> list[int]:
    """Return the swaps that the list has with these fields, on all its pages."""
    numbers, path = [], "/web/swaps"
    params: dict[str, Any] | None = fields
    for _ in range(50):
        answer = await guest.client.get(path, params=params)
        assert answer.status_code == 200
        numbers += [int(match) for match in re.findall(r'id="swap-(\d+)"', answer.text)]
        older = re.search(r'href="([^"]+)">Older', answer.text)
        if older is None:
            return numbers
        path, params = unescape(older[1]), None
    raise AssertionError("the pages have no end")


async def test_the_list_has_what_the_filter_takes_on_all_its_pages(
    books: Database, day: Day, monkeypatch: pytest.MonkeyPatch
) -> None:
    """List on all pages together, newest first, what the report has for each state, asset, owner or day."""
    monkeypatch.setattr("cfnode.dashboard.swap_pages.LINES_PER_PAGE", 2)
    known = list(report(books, "swaps", Period()))
    customers = [swap for swap in known if swap["kind"].startswith("Regular")]
    assert len(customers) < len(known)

    def numbers(records: list[dict[str, Any]]) -> list[int]:
        return [record["request"] for record in reversed(records)]

    with visitor(books) as (_, guest):
        await guest.log_in()
        assert await listed_at(guest) == numbers(customers)
        assert await listed_at(guest, owner="all") == numbers(known)
        chains = [swap for swap in known if swap not in customers]
        assert await listed_at(guest, owner="chain") == numbers(chains)
        for state in ("paid", "refunded", "failed", "swapping"):
            own = [customer for customer in customers if customer["state"] == state]
            assert await listed_at(guest, state=state) == numbers(own), state
        own = [
            customer for customer in customers if (customer["source"], customer["target"]) == ("Eth", "Btc")
        ]
        assert await listed_at(guest, source="Eth", target="Btc", account=day.broker) == numbers(own)
        ether = [customer for customer in customers if customer["source"] == "Eth"]
        most = max(record["input"] for record in ether)
        large = [record for record in ether if record["input"] == most]
        assert await listed_at(guest, source="Eth", least=str(most / 10**18)) == numbers(large)
        assert await listed_at(guest, last="1999-12-31") == []
        assert await listed_at(guest, first="1999-12-31", last="2999-12-31") == numbers(customers)


async def test_a_page_far_back_keeps_its_filter(books: Database) -> None:
    """Keep the filter in the form and in the link to the newest page; answer 404 to odd page marks."""
    with visitor(books) as (_, guest):
        await guest.log_in()
        text = (await guest.get("/swaps?state=paid&source=Eth&before=1-0")).text
        assert '<option value="paid" selected>' in text
        assert 'href="/web/swaps?state=paid&amp;source=Eth&amp;">Newest' in text
        for before in ("1", "x-1", "9" * 40 + "-1"):
            assert (await guest.get(f"/swaps?before={before}")).status_code == 404


def test_fields_are_read_into_a_filter() -> None:
    """Read a day as the period from its midnight to the next, trim the partner, and refuse a later start."""
    form = FilterForm.read(
        {"state": "paid", "first": "2026-11-25", "last": "2026-11-25", "partner": " shop "}
    )
    assert form.faults == {}
    period = Period(1_764_028_800_000 + 365 * 86_400_000, 1_764_028_800_000 + 366 * 86_400_000)
    assert form.wanted == SwapFilter(
        state=form.wanted.state, partner="shop", owner=Owner.CUSTOMER, period=period
    )
    assert form.wanted.state == "paid"
    bounds = FilterForm.read({"source": "Btc", "least": "0.5", "most": " 2 "})
    assert (bounds.wanted.least, bounds.wanted.most) == (50_000_000, 200_000_000)
    assert FilterForm.read({"least": "1"}).faults == {"least": "Choose the asset of the deposit, too."}
    for text in ("-1", "1e99", "nan", "0.000000001", "1,5"):
        fault = "Write a number with at most 8 digits behind the point."
        assert FilterForm.read({"source": "Btc", "most": text}).faults == {"most": fault}, text
    turned = FilterForm.read({"source": "Btc", "least": "2", "most": "1"})
    assert turned.faults == {"most": "This amount is below the smallest one."}
    late = FilterForm.read({"first": "2026-11-26", "last": "2026-11-25"})
    assert late.faults == {"last": "This day is before the first one."}


async def test_what_has_no_page_is_listed_and_escaped(empty: Database) -> None:
    """List a rejected deposit and a partner's request that have no page, with their texts escaped."""
    deposit = {
        "block": 1, "event": 2, "state": "failed", "chain": "Ethereum", "asset": HOSTILE[:12], "amount": 5,
        "ingress_fee": 0, "boost_fee": 0, "action": "None", "reason": HOSTILE, "origin": "Vault",
        "transaction": "0x" + "ab" * 32,
    }  # fmt: skip
    request = {
        "partner": HOSTILE, "key": "ab" * 32, "digest": "", "state": "unknown", "owner": "x", "beats": 0,
        "reservation": "r", "at": 1,
    }  # fmt: skip
    block = {"number": 1, "hash": "0x1", "parent": "0x0", "time": 7, "spec_version": 1, "events": 9}
    with empty.writing() as connection:
        connection.execute(insert(schema.blocks), block)
        connection.execute(insert(schema.deposits), deposit)
        connection.execute(insert(schema.metadata.tables["partner_requests"]), request)
    with visitor(empty) as (_, guest):
        await guest.log_in()
        answer = await guest.get("/find?term=" + "ab" * 32)
        assert answer.status_code == 200
        assert "Deposit rejected" in answer.text
        assert "no known channel" in answer.text
        assert unescape(answer.text).count(HOSTILE) == 2
        assert "<script>alert" not in answer.text


async def test_partners_are_offered_and_their_swaps_are_listed(empty: Database) -> None:
    """Offer each partner in the filter, and list only the swaps of channels that it opened."""
    add(empty, Partner("wallet", 25))
    with empty.writing() as connection:
        connection.execute(insert(schema.blocks), {"number": 1, "hash": "0x1", "parent": "0x0", "time": 1,
                                                   "spec_version": 1, "events": 1})  # fmt: skip
        for number in (1, 2):
            connection.execute(insert(schema.requests), {
                "block": 1, "event": number, "request": number, "kind": "Regular", "origin": "x",
                "chain": "Ethereum", "channel": number, "opened": 1, "source": "Eth", "target": "Btc",
                "amount": 5,
            })  # fmt: skip
        connection.execute(insert(schema.metadata.tables["partner_channels"]), {
            "id": "a", "partner": "wallet", "month": "2026-11", "state": "opened", "cost": 1,
            "chain": "Ethereum", "channel": 2, "opened": 1, "at": 1, "reference": HOSTILE,
        })  # fmt: skip
    with visitor(empty) as (_, guest):
        await guest.log_in()
        assert '<option value="wallet">' in (await guest.get("/swaps")).text
        assert await listed_at(guest, partner="wallet") == [2]
        assert await listed_at(guest, partner="walle") == []
        assert "wallet" in await text_of(guest, "/swaps/2")
        page = (await guest.get("/swaps/2")).text
        assert HOSTILE in unescape(page)
        assert "<script>alert" not in page


@pytest.mark.parametrize(
    ("chain", "outcomes", "label", "command"),
    [
        ("Ethereum", ["sent", "aborted"], "Batch is ready", "ethereum 7"),
        ("Arbitrum", ["sent", "refused", "aborted"], "Call is ready", "arbitrum 7"),
        ("Ethereum", ["sent", "refused", "aborted", "expired"], "Call expired", None),
        ("Ethereum", ["sent", "aborted", "rotated"], "Call expired", None),
        ("Ethereum", ["sent", "aborted", "rotated", "signed"], "Batch is ready", "ethereum 7"),
        ("Bitcoin", ["sent", "aborted"], "No call", None),
    ],
)
async def test_an_aborted_payout_has_the_command_that_sends_its_transaction(
    chain: str, outcomes: list[str], label: str, command: str | None, empty: Database
) -> None:
    """Offer the recovery command where a vault would take the transaction, and say until when."""
    with empty.writing() as connection:
        connection.execute(insert(schema.blocks), {"number": 1, "hash": "0x1", "parent": "0x0", "time": 1,
                                                   "spec_version": 1, "events": 9})  # fmt: skip
        connection.execute(insert(schema.requests), {
            "block": 1, "event": 1, "request": 3, "kind": "Regular", "origin": "x", "chain": "Bitcoin",
            "channel": 1, "opened": 1, "source": "Btc", "target": "Eth", "amount": 5,
        })  # fmt: skip
        connection.execute(insert(schema.payouts), {
            "block": 1, "event": 2, "kind": "swap", "state": "scheduled", "chain": chain, "egress": 5,
            "request": 3, "asset": "Eth", "amount": 10**18, "destination": RECEIVER,
        })  # fmt: skip
        connection.execute(insert(schema.broadcasts), {
            "block": 1, "event": 3, "chain": chain, "broadcast": 7, "egress": 5, "place": 0,
        })  # fmt: skip
        for event, state in enumerate(outcomes, 4):
            at = {"block": 1, "event": event}
            if state != "rotated":
                outcome = {"chain": chain, "broadcast": 7, "state": state}
                connection.execute(insert(schema.outcomes), at | outcome)
            pallet, name = {
                "aborted": (f"{chain}Broadcaster", "BroadcastAborted"),
                "rotated": ("EvmThresholdSigner", "KeyRotationCompleted"),
            }.get(state, ("", ""))
            row = at | {"pallet": pallet, "name": name, "fields": "{}"}
            connection.execute(insert(schema.events), row)
    with visitor(empty) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/swaps/3")
        assert f"{label} : 1 ETH on {chain} to {RECEIVER}" in text
        assert ("cfnode recover --node https://node.example" in text) is (command is not None)
        assert f"https://node.example {command}" in text or command is None
        until = "until the vault gets the next epoch's key (within three days on the main net)."
        assert (until in text) is (label == "Batch is ready")
        listed = await text_of(guest, "/payouts")
        assert f"1 ETH on {chain} {label} to {RECEIVER}" in listed
        assert ("cfnode recover --node https://node.example" in listed) is (command is not None)
        assert (until in listed) is (label == "Batch is ready")


async def test_an_aborted_payout_that_is_sent_again_is_on_its_way(empty: Database) -> None:
    """Neither its swap nor the list says that it has failed."""
    with empty.writing() as connection:
        connection.execute(insert(schema.blocks), {"number": 1, "hash": "0x1", "parent": "0x0", "time": 1,
                                                   "spec_version": 1, "events": 9})  # fmt: skip
        connection.execute(insert(schema.requests), {
            "block": 1, "event": 1, "request": 3, "kind": "Regular", "origin": "x", "chain": "Bitcoin",
            "channel": 1, "opened": 1, "source": "Btc", "target": "Eth", "amount": 5,
        })  # fmt: skip
        connection.execute(insert(schema.payouts), {
            "block": 1, "event": 2, "kind": "swap", "state": "scheduled", "chain": "Ethereum", "egress": 5,
            "request": 3, "asset": "Eth", "amount": 10**18, "destination": RECEIVER,
        })  # fmt: skip
        connection.execute(insert(schema.broadcasts), {
            "block": 1, "event": 3, "chain": "Ethereum", "broadcast": 7, "egress": 5, "place": 0,
        })  # fmt: skip
        for event, state, name in (
            (4, "sent", "TransactionBroadcastRequest"),
            (5, "aborted", "BroadcastAborted"),
            (6, "sent", "TransactionBroadcastRequest"),
        ):
            at = {"block": 1, "event": event}
            about = {"chain": "Ethereum", "broadcast": 7, "state": state}
            connection.execute(insert(schema.outcomes), at | about)
            row = at | {"pallet": "EthereumBroadcaster", "name": name, "fields": "{}"}
            connection.execute(insert(schema.events), row)
    with visitor(empty) as (_, guest):
        await guest.log_in()
        page = await text_of(guest, "/swaps/3")
        assert "Payout sent" in page
        assert "Batch is ready" not in page
        assert "No payout has failed." in await text_of(guest, "/payouts")
