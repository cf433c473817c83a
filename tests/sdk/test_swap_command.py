"""`cfnode swap`, by what it prints and how it ends."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.cli.swap.options import amount_of
from cfnode.cli.swap.request import qr_code
from cfnode.core.assets import ASSETS
from cfnode.sdk import SwapStatus
from tests.conftest import shared
from tests.documentation import outputs
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.sdk.scripted import environment_answer
from tests.support.cli.terminals import PLACES, plain
from tests.support.sdk.deposits import BTC, EVM, METHOD, OPENED

QUOTES = "quote-v2-response.json"
WATCHED, FAILED = outputs("docs/guide/sdk.md")
RECEIPT = WATCHED.partition("\n\n")[2]
TIME = re.compile(r"^\d\d:\d\d:\d\d  ", re.MULTILINE)
"""The time at which `swap watch` has seen a change."""


def sample(name: str) -> Any:
    """Return a recorded document."""
    return json.loads(shared("sdk-examples", name).read_text())


@pytest.fixture
def service() -> Iterator[Loopback]:
    """Yield node, broker and swap service in one, on perseverance."""
    walks = {
        name: iter(["WAITING", "RECEIVING", "SWAPPING_dca", "SENDING", "SENT", "COMPLETED"])
        for name in ("walk", "other_walk")
    }
    walks["failing"] = iter(["SENDING", "SENT", "FAILED_broadcast_aborted"])
    walks["hostile"] = iter(["hostile", "COMPLETED"])
    states = sample("status-v2.json")["states"]
    states["hostile"] = states["WAITING"] | {"state": "[/red]\x1b[2J"}

    def handle(request: Request) -> bytes:
        path = request.line.split()[1].partition("?")[0]
        if path == "/v2/quote" and "amount=1000&" in request.line:
            refusal = {"message": "expected amount is below minimum swap amount (20000)"}
            return page(400, json.dumps(refusal).encode())
        if path == "/v2/quote":
            return page(200, json.dumps(sample(QUOTES)["responseBody"]).encode())
        name = path.rpartition("/")[2]
        if name in walks:
            return page(200, json.dumps(states[next(walks[name])]).encode())
        if path.startswith("/v2/swaps/"):
            status = states.get(name)
            body = status or {"message": "resource not found"}
            return page(200 if status else 404, json.dumps(body).encode())
        opened = OPENED | {"address": "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"}
        answers = {"cf_environment": environment_answer(), METHOD: opened, "state_getStorage": None}
        if any(call["method"] not in answers for call in request.calls):
            return page(503, b"")
        return request.results(answers)

    with serving(handle) as server:
        yield server


def swap(service: Loopback, *arguments: str, env: dict[str, str] | None = None) -> Result:
    """Run `cfnode swap` with one server as node and swap service."""
    where = ["--network=perseverance", f"--node={service.url}", f"--backend={service.url}"]
    return CliRunner().invoke(cli, ["swap", arguments[0], *where, *arguments[1:]], env=env)


REQUEST = ("BTC", "ETH", "1", f"--to={EVM}", f"--refund={BTC}")


def test_a_quote_as_a_table_and_as_json(service: Loopback) -> None:
    """Print the quotes as a table, and as JSON the service's own document."""
    result = swap(service, "quote", "BTC", "ETH", "1")
    assert result.exit_code == 0, result.output
    for text in ("REGULAR", "REGULAR boosted", "DCA", "25.025 ETH", "4, every 2 blocks", "27 min"):
        assert text in result.output
    document = json.loads(swap(service, "quote", "BTC", "ETH", "1", "--json").stdout)
    assert document["quotes"] == sample(QUOTES)["responseBody"]
    assert "amount=100000000&srcChain=Bitcoin" in service.requests[-1].line


@pytest.mark.parametrize(
    ("flags", "boost", "dca"),
    [
        ((), None, None),
        (("--boost",), 30, None),
        (("--dca",), None, {"number_of_chunks": 4, "chunk_interval": 2}),
    ],
)
def test_a_deposit_address_by_quote(service: Loopback, flags: tuple[str, ...], boost: Any, dca: Any) -> None:
    """Open a channel with the quote's boost or chunks, and print address, QR code and the next command."""
    broker = (f"--broker={service.url}", "--commission=15")
    result = swap(service, "request", *REQUEST, "--slippage=1.5", "--qr", *broker, *flags)
    assert result.exit_code == 0, result.output
    assert "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx" in result.output
    assert f"cfnode swap watch --network=perseverance --backend={service.url} 5-Bitcoin-6" in result.output
    assert "▀" in result.output or "█" in result.output
    (params,) = (
        call["params"]
        for request in service.requests
        if METHOD.encode() in request.body
        for call in request.calls
    )
    assert (params[3], params[5], params[8]) == (15, boost, dca)


def test_the_outcome_of_a_request(service: Loopback) -> None:
    """Print expected output, least output and price after the slippage, exactly."""
    broker = f"--broker={service.url}"
    quote = sample(QUOTES)["responseBody"][0]
    price = Decimal(quote["estimatedPrice"]) * Decimal("0.985")
    command = ("request", *REQUEST, "--slippage=1.5", broker)
    result = swap(service, *command, env={"FORCE_COLOR": "1", "COLUMNS": "140"})
    assert "25.025 ETH, after all fees" in result.stdout
    assert f"{price:.18f} ETH, before the fees of deposit and payout" in result.stdout
    assert f"{price:.18f} ETH for 1 BTC" in result.stdout
    assert f"refund to     {BTC}\n" in result.stdout
    steps = [result.stderr.index(step) for step in ("requesting a quote", "opening a deposit channel")]
    assert steps == sorted(steps)
    document = json.loads(swap(service, *command, "--json").stdout)
    assert (document["expectedOutput"], document["refundAddress"]) == (quote["egressAmount"], BTC)
    assert Decimal(document["minimumPrice"]) == price.quantize(Decimal("1e-18"))
    assert Decimal(document["minimumOutput"]) == (price * 10**18).to_integral_value()


@pytest.mark.parametrize("place", PLACES)
def test_addresses_and_commands_are_whole_at_every_width(place: str, service: Loopback) -> None:
    """Print addresses, amounts and commands whole at each width."""
    broker = f"--broker={service.url}"
    opened = plain(swap(service, "request", *REQUEST, "--slippage=1.5", broker, env=PLACES[place]).stdout)
    assert "to            tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx" in opened
    assert f"receiver      {EVM}" in opened
    assert f"refund to     {BTC}" in opened
    follow = opened[opened.index("Follow it:") + 1]
    assert follow.startswith(f"cfnode swap watch --network=perseverance --backend={service.url} 5-Bitcoin-6")
    quoted = plain(swap(service, "quote", "BTC", "ETH", "1", env=PLACES[place]).stdout)
    assert any("25.025 ETH" in line for line in quoted)
    paid = plain(swap(service, "status", "COMPLETED", env=PLACES[place]).stdout)
    stated = sample("status-v2.json")["states"]["COMPLETED"]
    channel, payout = stated["depositChannel"], stated["swapEgress"]
    for address in (channel["depositAddress"], stated["destAddress"], payout["txRef"]):
        assert any(line.endswith(f"  {address}") for line in paid), paid
    for line in (*opened, *quoted, *paid):
        assert "…" not in line


def test_addresses_are_repeated_in_one_spelling_whatever_was_typed(service: Loopback) -> None:
    """The broker gets them so, too, and the SDK's check of a wrong checksum stands."""
    typed = ("BTC", "ETH", "1", f"--to={EVM.lower()}", f"--refund={BTC.upper()}")
    command = ("request", *typed, "--min-price=24", f"--broker={service.url}")
    opened = plain(swap(service, *command).stdout)
    assert f"receiver      {EVM}" in opened
    assert f"refund to     {BTC}" in opened
    requests = [request for request in service.requests if METHOD.encode() in request.body]
    (params,) = (call["params"] for request in requests for call in request.calls)
    assert (params[2], params[7]["refund_address"]) == (EVM, BTC)
    document = json.loads(swap(service, *command, "--json").stdout)
    assert (document["destAddress"], document["refundAddress"]) == (EVM, BTC)
    wrong = swap(service, "request", "BTC", "ETH", "1", f"--to={EVM.replace('F', 'f', 1)}", *command[5:])
    assert (wrong.exit_code, "--to" in wrong.stderr) == (int(ExitCode.USAGE), True)


def test_a_price_of_its_own_expects_no_quote(service: Loopback) -> None:
    """Print the price that was given, and no expected output without a quote."""
    command = ("request", *REQUEST, "--min-price=24", f"--broker={service.url}")
    result = swap(service, *command)
    assert "24 ETH, before the fees" in result.stdout
    assert "after all fees" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--to=x", f"--refund={BTC}", "--min-price=1"),
            "--to: 'x' is not a valid Ethereum address",
        ),
        ((f"--to={EVM}", "--refund=x", "--min-price=1"), "--refund: 'x' is not a valid Bitcoin address"),
        (
            (f"--to={EVM}", f"--refund={BTC}", "--slippage=101"),
            "--slippage: give a percentage from 0 to 100, not 101",
        ),
        (
            (f"--to={EVM}", f"--refund={BTC}", "--min-price=1", "--affiliate=cF=1"),
            "--affiliate: needs a broker of your own",
        ),
    ],
)
def test_an_error_names_the_flag(service: Loopback, arguments: tuple[str, ...], words: str) -> None:
    """Name the flag of a wrong address, percentage or affiliate."""
    result = swap(service, "request", "BTC", "ETH", "1", *arguments)
    assert (result.exit_code, words in result.stderr) == (ExitCode.USAGE, True), result.stderr


def test_a_limit_is_told_in_whole_units(service: Loopback) -> None:
    """Print the chain's limit in whole coins, for a quote as for a request."""
    text = "Error: expected amount is below minimum swap amount (0.0002 BTC): give at least that\n"
    for command in (("quote", "BTC", "ETH", "0.00001"), ("request", "BTC", "ETH", "0.00001", *REQUEST[3:])):
        more = ("--slippage=1",) if command[0] == "request" else ()
        assert swap(service, *command, *more).stderr == text


@pytest.mark.parametrize("price", ["--min-price=24", "--slippage=1"])
def test_affiliates_and_a_message(price: str, service: Loopback) -> None:
    """Send affiliates and message; refuse a message that the quote did not know."""
    affiliate = "cFHyJEHEQ1YkT9xuFnxnPWVkihpYEGjBg4WbF6vCPtSPQoE8n"
    broker = (f"--broker={service.url}", f"--affiliate={affiliate}=7")
    result = swap(service, "request", *REQUEST, price, *broker, "--message=0xdead", "--gas-budget=9")
    if price == "--slippage=1":
        # The quotes of this service know nothing of the message.
        assert "--message: the quote was requested without ccm_params" in result.output
        query = service.requests[0].line
        assert "brokerCommissionBps=7&ccmGasBudget=9&ccmMessageLengthBytes=2" in query
        return
    assert result.exit_code == 0, result.output
    (params,) = (
        call["params"]
        for request in service.requests
        if METHOD.encode() in request.body
        for call in request.calls
    )
    assert params[6] == [{"account": affiliate, "bps": 7}]
    assert (params[4]["message"], params[4]["gas_budget"]) == ("0xdead", "0x9")


def test_a_deposit_address_by_price_as_json(service: Loopback) -> None:
    """Open a channel for a price without asking for a quote."""
    broker = f"--broker={service.url}"
    result = swap(service, "request", *REQUEST, "--min-price=24", broker, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["depositChannelId"], document["amount"]) == ("5-Bitcoin-6", "100000000")
    assert not any("quote" in request.line for request in service.requests)


@pytest.mark.parametrize(
    "arguments",
    [
        (*REQUEST,),
        (*REQUEST, "--slippage=1", "--min-price=1"),
        (*REQUEST, "--min-price=1", "--boost"),
        (*REQUEST, "--min-price=1", "--commission=5"),
        (*REQUEST, "--min-price=1", "--message=0x12"),
        (*REQUEST, "--min-price=1", "--affiliate=cF"),
        ("BTC", "ETH", "1", "--to=malformed", f"--refund={BTC}", "--min-price=1"),
        ("BTC", "CHEESE", "1", f"--to={EVM}", f"--refund={BTC}", "--min-price=1"),
        ("BTC", "ETH", "0.000000001", f"--to={EVM}", f"--refund={BTC}", "--min-price=1"),
        ("BTC", "ETH", "0", f"--to={EVM}", f"--refund={BTC}", "--min-price=1"),
        ("BTC", "ETH", "0,5", f"--to={EVM}", f"--refund={BTC}", "--min-price=1"),
        (*REQUEST, "--slippage=1,5"),
    ],
)
def test_a_request_that_cannot_be(service: Loopback, arguments: tuple[str, ...]) -> None:
    """Refuse missing, contradicting and malformed terms before a channel is asked for."""
    result = swap(service, "request", *arguments)
    assert result.exit_code == ExitCode.USAGE, result.output
    output = swap(service, "request", *arguments, "--json")
    assert json.loads(output.stdout)["error"]["code"] in ("USAGE", "VALIDATION")
    assert not any(METHOD.encode() in request.body for request in service.requests)


def test_the_status_of_a_swap(service: Loopback) -> None:
    """Print the receipt, the failure and the refund as the guide does, and as JSON the service's document."""
    done = swap(service, "status", "COMPLETED")
    assert done.exit_code == 0, done.output
    assert done.output == RECEIPT
    failed = swap(service, "status", "FAILED_broadcast_aborted").output
    assert failed.replace(f" --node={service.url} --backend={service.url}", "") == FAILED
    assert failed.count("The swap broadcast was aborted") == 1
    assert failed.count("FAILED") == 1
    refunded = swap(service, "status", "COMPLETED_refunded").output
    assert "COMPLETED: done, refunded\n" in refunded
    assert "refunded             0.9999 BTC on Bitcoin\n" in refunded
    assert "refund address       tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx\n" in refunded
    waiting = swap(service, "status", "WAITING").output
    assert "WAITING: for the deposit of 1 BTC\n" in waiting
    assert "expected         1 BTC, before 2025-02-25 17:00 UTC, chain time\n" in waiting
    document = json.loads(swap(service, "status", "SENT", "--json").stdout)
    assert document == sample("status-v2.json")["states"]["SENT"]


def test_a_development_node_is_its_own_swap_service(service: Loopback) -> None:
    """Ask a development node itself for the status."""
    line = ["swap", "status", "--network=dev", f"--node={service.url}", "COMPLETED"]
    result = CliRunner().invoke(cli, line)
    assert (result.exit_code, "COMPLETED: done" in result.output) == (0, True), result.output


def test_a_failed_payout_leads_to_the_command_that_recovers_it(service: Loopback) -> None:
    """Print the recovery command below a failed payout, and none below a rejected deposit."""
    name = "FAILED_broadcast_aborted"
    where = f"--network=perseverance --node={service.url} --backend={service.url}"
    command = f"cfnode recover ethereum --for 6739624-Bitcoin-34009 {where}"
    for verb in ("status", "watch"):
        result = swap(service, verb, name)
        assert f"Recover it:\n{command}\n" in result.output, result.output
        assert "25.025 ETH for 0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754 could not be paid" in result.output
        first = json.JSONDecoder().raw_decode(swap(service, verb, name, "--json").stdout)[0]
        assert first["failedPayout"]["command"] == command
        assert (first["failedPayout"]["isRecoverable"], first["failedPayout"]["asset"]) == (True, "ETH")
    ignored = swap(service, "status", "FAILED_deposit_ignored")
    assert "is not refunded" in ignored.output
    assert "cfnode recover" not in ignored.output


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reason": {"name": "FailedForeignChainCallExpired", "message": "late"}}, "has expired"),
        ({"chain": "Solana", "asset": "SOL"}, "There is no call to send"),
        ({"mode": "SWAP_OUTPUT_TOO_SMALL"}, "below Chainflip's minimum"),
    ],
)
def test_a_failed_payout_without_a_call(changes: dict[str, Any], words: str) -> None:
    """Explain why a failed payout has no call, and print no command."""
    document = sample("status-v2.json")["states"]["FAILED_broadcast_aborted"]
    egress = document["swapEgress"]
    egress["failure"] |= {name: changes[name] for name in ("mode", "reason") if name in changes}
    egress["transactionPayload"] = changes.get("transactionPayload")
    document |= {"destChain": changes.get("chain", "Ethereum"), "destAsset": changes.get("asset", "ETH")}
    payout = SwapStatus.from_json(document).failed_payout
    assert payout is not None
    assert words in payout.explanation
    assert (payout.is_recoverable, payout.command()) == (False, None)


@pytest.mark.parametrize(
    ("chain", "asset", "data", "words", "command"),
    [
        ("Ethereum", "ETH", "0x5f8c0f9a00", "Any account may send it until", "recover ethereum --for"),
        ("Bsc", "BNB", "0xb267e7f600", "three to six days on the main net", "recover bsc --for"),
        ("Bsc", "BNB", "", "is not known from this alone", "recover bsc --for"),
        ("Arbitrum", "ETH", "0xb267e7f600", "three to six days on the main net", "recover arbitrum --for"),
    ],
)
def test_a_failed_payout_that_a_signed_call_makes(
    chain: str, asset: str, data: str, words: str, command: str
) -> None:
    """Explain how long a signed call may be sent, and print its command."""
    document = sample("status-v2.json")["states"]["FAILED_broadcast_aborted"]
    document["swapEgress"]["transactionPayload"] = {"data": data} if data else None
    payout = SwapStatus.from_json(document | {"destChain": chain, "destAsset": asset}).failed_payout
    assert payout is not None
    assert words in payout.explanation
    assert f"cfnode {command} 6739624-Bitcoin-34009" == payout.command()


def test_a_secret_in_an_address_is_not_printed(service: Loopback) -> None:
    """Print URL in place of a node's address with a secret."""
    backend = f"--backend={service.url}"
    line = ["swap", "status", "--network=perseverance", f"--node={service.url}/key-of-mine", backend]
    result = CliRunner().invoke(cli, [*line, "FAILED_broadcast_aborted"])
    assert ("--node=URL" in result.output, "key-of-mine" in result.output) == (True, False)


def test_a_swap_that_is_unknown(service: Loopback) -> None:
    """Say what a swap is named by where the name is unknown."""
    result = swap(service, "status", "nope")
    assert (result.exit_code, "'nope' is not a swap" in result.output) == (ExitCode.FAILURE, True)
    document = json.loads(swap(service, "status", "nope", "--json").stdout)
    assert document["error"]["code"] == "BACKEND"


def test_a_failed_deposit_has_its_time_since_the_channel(service: Loopback) -> None:
    """Print how long a failed deposit took since the channel, and a payout since the deposit."""
    ended = swap(service, "status", "FAILED_deposit_ignored").output
    assert (
        "took                 6 min 23 s from the channel's opening to the failed deposit, chain time\n"
        in ended
    )
    refunded = swap(service, "status", "COMPLETED_refunded").output
    assert " from the confirmed deposit to the payout, chain time\n" in refunded


@pytest.mark.parametrize("verb", ["status", "watch"])
def test_a_payout_whose_chain_does_not_answer_may_have_been_recovered(service: Loopback, verb: str) -> None:
    """Say that a recovery may have happened where the payout's chain does not answer."""
    away = "--eth-rpc=http://127.0.0.1:1"
    printed = swap(service, verb, "FAILED_broadcast_aborted", away).output
    assert "\nWhether it was recovered already is unknown: " in printed
    assert "Recover it:\ncfnode recover ethereum --for 6739624-Bitcoin-34009 " in printed
    assert f" {away}\n" in printed
    paid = swap(service, verb, "COMPLETED", away)
    assert (paid.exit_code, "recovered" in paid.output) == (0, False)


def test_a_swap_followed_to_its_end(service: Loopback) -> None:
    """Print each state once, with its time, up to the receipt, as the guide does."""
    result = swap(service, "watch", "walk", "--every=0.1")
    assert result.exit_code == 0, result.output
    assert len(TIME.findall(result.output)) == 6
    assert TIME.sub("", result.output) == TIME.sub("", WATCHED)


def test_the_receipt_compares_the_output_with_the_quote(service: Loopback) -> None:
    """Compare the output with the quoted one, which the printed command hands on."""
    opened = swap(service, "request", *REQUEST, "--slippage=1.5", f"--broker={service.url}").stdout
    follow = opened.splitlines()[opened.splitlines().index("Follow it:") + 1]
    assert follow.endswith("5-Bitcoin-6 --quoted=25.025")
    same = swap(service, "status", "COMPLETED", "--quoted=25.025").output
    assert "against the quote    as quoted, 25.025 ETH\n" in same
    less = swap(service, "watch", "COMPLETED", "--quoted=26").output
    assert "against the quote    3.75 % less than 26 ETH\n" in less


def test_a_swap_followed_by_a_program(service: Loopback) -> None:
    """Print each state as a line of JSON."""
    result = swap(service, "watch", "walk", "--every=0.1", "--json")
    lines = [json.loads(line)["state"] for line in result.stdout.splitlines()]
    assert (lines[0], lines[-1], len(lines)) == ("WAITING", "COMPLETED", 6)


def test_a_state_of_another_service_is_printed_as_text(service: Loopback) -> None:
    """Print a state that the service made up as text, without its control characters."""
    result = swap(service, "watch", "hostile", "--every=0.1", env=PLACES["60 columns"])
    assert result.exit_code == 0, result.output
    assert "[/red]\N{REPLACEMENT CHARACTER}[2J" in result.stdout


def test_a_failed_swap_ends_the_watching_with_a_failure(service: Loopback) -> None:
    """Exit with 1 after a failed swap, and print the reason once."""
    result = swap(service, "watch", "FAILED_deposit_ignored")
    assert result.exit_code == ExitCode.FAILURE
    assert result.stderr == "Error: the swap has failed\n"
    assert "●●○○○○  FAILED     the deposit was not swapped\n" in result.stdout
    assert result.stdout.count("is not refunded") == 1
    late = swap(service, "watch", "FAILED_broadcast_aborted").stdout
    assert "●●●●○○  FAILED     the output could not be paid out\n" in late
    assert late.count("The swap broadcast was aborted") == 1


def test_a_payout_that_fails_after_it_was_sent_keeps_its_progress(service: Loopback) -> None:
    """Keep the progress of a payout that failed after it was sent."""
    printed = swap(service, "watch", "failing", "--every=0.1").stdout
    assert re.findall("[●○]{6}", printed) == ["●●●●○○", "●●●●●○", "●●●●●○"]


def test_a_swap_is_asked_for_at_the_pace_of_its_chain(
    service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ask every six seconds, and every second on a development chain."""
    pauses: list[float] = []
    clock = SimpleNamespace(sleep=pauses.append, time_ns=time.time_ns, monotonic=time.monotonic)
    monkeypatch.setattr("cfnode.sdk.client.time", clock)
    swap(service, "watch", "walk")
    assert set(pauses) == {6.0}
    pauses.clear()
    swap(service, "watch", "other_walk", "--network=dev")
    assert set(pauses) == {1.0}


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_leaves_a_swap_alone(
    as_json: bool, service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit by Ctrl-C with the words that the swap itself continues."""

    def pressed(seconds: float) -> None:
        raise KeyboardInterrupt

    clock = SimpleNamespace(sleep=pressed, time_ns=time.time_ns, monotonic=time.monotonic)
    monkeypatch.setattr("cfnode.sdk.client.time", clock)  # not time.sleep itself: other threads sleep too
    result = swap(service, "watch", "WAITING", *(["--json"] if as_json else []))
    assert result.exit_code == ExitCode.INTERRUPTED
    words = "the swap itself continues"
    if as_json:
        assert words in result.stdout[result.stdout.rindex('"error"') :]
    else:
        assert words in result.stderr


def test_a_pipe_gets_no_qr_code(service: Loopback) -> None:
    """Print no QR code into a pipe."""
    result = swap(service, "request", *REQUEST, "--slippage=1.5", f"--broker={service.url}")
    assert "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx" in result.output
    assert "▀" not in result.output


def test_an_amount_is_counted_exactly() -> None:
    """Convert whole coins into base units without a rounding."""
    assert amount_of(Decimal("0.5"), ASSETS["Btc"]) == 50_000_000
    assert amount_of(Decimal("1e-8"), ASSETS["Btc"]) == 1
    assert amount_of(Decimal("12345678901.123456789012345678"), ASSETS["Eth"]) == (
        12345678901_123456789012345678
    )


def test_a_qr_code_is_square() -> None:
    """Draw a code whose half blocks are as many in height as in width."""
    lines = [line for line in qr_code(EVM).splitlines() if line]
    assert len(lines) >= 15
    assert {len(line) for line in lines} == {2 * len(lines) - 1}
