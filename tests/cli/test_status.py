"""`cfnode status` of nodes that serve all, little, nonsense, or nothing in time."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from cfnode.cli import cli
from cfnode.cli.client import CallRefused, NodeUnreachable
from cfnode.cli.status import command
from cfnode.cli.status.asking import Asking
from cfnode.cli.status.report import reported_status
from cfnode.cli.status.screen import screen
from cfnode.clients.http import HttpAnswer, HttpCall, TooSlow
from cfnode.core import ss58
from cfnode.core.vault_swaps import VaultSwapTerms, cf_parameters
from tests.support.cli.commands import run
from tests.support.cli.servers import result, serving
from tests.support.cli.terminals import PLACES, plain

BROKER = b"\x07" * 32
ACCOUNT = ss58.encode(BROKER)
REFUND = {
    "retry_duration": 0,
    "refund_address": b"\x01" * 20,
    "min_price": 0,
    "refund_ccm_metadata": None,
    "max_oracle_price_slippage": None,
}
BTC, ETH = {"chain": "Bitcoin", "asset": "BTC"}, {"chain": "Ethereum", "asset": "ETH"}


def answers(**changes: Any) -> dict[str, Any]:
    """Return a node's answer to each method: its head is 4 s old, three blocks ahead of the final one."""
    now = time.time()
    header = {"0xbest": "0x2d", None: "0x2d", "0xfinal": "0x2a"}
    age = {"0xbest": 4, "0xfinal": 22}

    def time_of(key: str, block: str) -> str:
        return "0x" + int((now - age.get(block, 4)) * 1000).to_bytes(8, "little").hex()

    return {
        "system_health": {"peers": 12, "isSyncing": False, "shouldHavePeers": True},
        "system_syncState": {"startingBlock": 0, "currentBlock": 45, "highestBlock": 45},
        "system_chain": "Chainflip-Berghain",
        "system_chainType": "Live",
        "system_name": "chainflip-node",
        "system_version": "2.2.3-abc",
        "state_getRuntimeVersion": {"specName": "chainflip-node", "specVersion": 20203},
        "chain_getHeader": lambda block=None: {"number": header.get(block)},
        "chain_getBlockHash": "0xbest",
        "chain_getFinalizedHead": "0xfinal",
        "state_getStorage": time_of,
        "broker_encode_cf_parameters": "0x" + cf_parameters(VaultSwapTerms(REFUND, BROKER, 1000)).hex(),
        "cf_account_info": {
            "role": "broker",
            "flip_balance": hex(12_500_000_000_000_000_000),
            "earned_fees": {"Ethereum": {"ETH": "0x0", "USDC": hex(1_250_000)}, "Bitcoin": {"BTC": "0x1"}},
        },
        "cf_get_open_deposit_channels": {"chain_accounts": [[{"Btc": [1]}, BTC], [{}, ETH], [{}, BTC]]},
    } | changes


def node(served: dict[str, Any]) -> Callable[[dict[str, Any]], bytes]:
    """Return a node that serves these methods and no others."""

    def answer(request: dict[str, Any]) -> bytes:
        if request["method"] not in served:
            error = {"code": -32601, "message": "Method not found"}
            return json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
        answer = served[request["method"]]
        return result(answer(*request["params"]) if callable(answer) else answer)

    return answer


def status(served: dict[str, Any], *flags: str) -> Any:
    """Return the report as JSON."""
    with serving(node(served)) as url:
        code, out, err = run("status", "--node", url, "--json", *flags)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_all_that_a_node_serves_is_on_one_screen() -> None:
    """Print sync, blocks, broker's balance, channels, fees and versions without a warning."""
    with serving(node(answers())) as url:
        code, out, err = run("status", "--node", url)
    assert (code, err) == (0, "")
    for words in (
        f"Chainflip-Berghain at {url}",
        "in sync with the chain",
        "#45, ",
        "#42, 3 blocks (18 s) behind, ",
        " s old",
        ACCOUNT,
        "12.5 FLIP",
        "3 of this account (BTC 2, ETH 1)",
        "1.25 USDC",
        "0.00000001 BTC",
        "chainflip-node 2.2.3-abc, runtime chainflip-node 20203",
    ):
        assert words in out
    assert "Warning" not in out
    assert "unavailable" not in out


@pytest.mark.parametrize("place", PLACES)
def test_nothing_on_the_screen_is_cut(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the broker's account and channels whole at each width."""
    for name, value in PLACES[place].items():
        monkeypatch.setenv(name, value)
    with serving(node(answers())) as url:
        lines = plain(run("status", "--node", url)[1])
    assert f"account        {ACCOUNT}" in lines
    assert "open channels  3 of this account (BTC 2, ETH 1)" in lines
    assert not any("…" in line for line in lines)


def test_a_program_reads_the_same() -> None:
    """Give each figure of the screen as a member, with amounts as texts of whole coins."""
    report = status(answers())
    assert report["broker"] == {
        "account": ACCOUNT,
        "role": "broker",
        "flip": "12.5",
        "earnedFees": {"Ethereum/USDC": "1.25", "Bitcoin/BTC": "0.00000001"},
        "openChannels": 3,
        "openChannelsByAsset": {"Bitcoin/BTC": 2, "Ethereum/ETH": 1},
    }
    assert (report["syncing"], report["peers"], report["best"]["number"]) == (False, 12, 45)
    assert (report["finalized"]["blocksBehind"], report["finalized"]["secondsBehind"]) == (3, 18.0)
    assert 22 <= report["finalized"]["ageSeconds"] < 82
    assert (report["state"], report["warnings"], report["unavailable"]) == ("inStep", [], {})


def test_what_needs_attention_is_a_warning() -> None:
    """Warn of few funds, no peers, old blocks and a missing role, and not of 5 FLIP exactly."""
    poor = {"role": "unregistered", "flip_balance": hex(4_999_999_999_999_999_999)}
    old = "0x" + int((time.time() - 600) * 1000).to_bytes(8, "little").hex()
    report = status(
        answers(
            system_health={"peers": 0, "isSyncing": True, "shouldHavePeers": True},
            cf_account_info=poor,
            state_getStorage=old,
        )
    )
    texts = "\n".join(report["warnings"])
    for words in (
        "The node is syncing",
        "has no peers",
        "No block for 60",
        "final for 60",
        "has 4.999999999999999999 FLIP, less than 5",
        "not a broker yet: call broker_register_account",
    ):
        assert words in texts
    enough = poor | {"role": "broker", "flip_balance": hex(5 * 10**18)}
    assert status(answers(cf_account_info=enough))["warnings"] == []


def aged(head: float, final: float) -> dict[str, Any]:
    """Return a node that is not syncing, whose blocks are so many seconds old."""
    age = {"0xbest": head, "0xfinal": final}

    def time_of(key: str, block: str) -> str:
        return "0x" + int((time.time() - age[block]) * 1000).to_bytes(8, "little").hex()

    return answers(state_getStorage=time_of)


LONELY = answers(system_health={"peers": 0, "isSyncing": False, "shouldHavePeers": True})
NO_CLOCK = {name: answer for name, answer in answers().items() if name != "state_getStorage"}


@pytest.mark.parametrize(
    ("served", "state", "words"),
    [
        (aged(4, 22), "inStep", "in sync with the chain"),
        (aged(600, 620), "noBlocks", "no new blocks: the network has stalled"),
        (aged(4, 600), "noFinality", "none becomes final"),
        (LONELY, "noPeers", "cut off: no peers"),
        (NO_CLOCK, "unknown", "the age of its best block is unknown"),
    ],
)
def test_a_dead_network_is_not_in_step(served: dict[str, Any], state: str, words: str) -> None:
    """Name a stalled network, missing finality and missing peers, and say "in sync" for neither."""
    assert status(served)["state"] == state
    text = printed(served)
    assert words in text
    assert ("in sync" in text) is (state == "inStep")


def test_a_node_without_a_broker_key_has_no_broker_part() -> None:
    """Say that there is no broker key; --account asks for one nevertheless."""
    served = answers()
    del served["broker_encode_cf_parameters"]
    report = status(served)
    assert "no broker key" in report["unavailable"]["broker"]
    assert ("broker" in report, list(report["unavailable"])) == (False, ["broker"])
    assert status(served, "--account", ACCOUNT)["broker"]["flip"] == "12.5"
    assert run("status", "--account", "cFnonsense")[0] == 2


HUGE = {"number": "0x" + "f" * 999}
ESCAPE = "\x1b[2J[b]"
NONSENSE = [None, True, -1, 1.5, "", "0x", "0xzz", [], [1], [[1, 2]], {}, HUGE, json.loads("1" * 400), ESCAPE]


class Answering:
    """A node without a network."""

    def __init__(self, served: dict[str, Any]) -> None:
        self.served = served

    def call(self, method: str, *params: Any) -> Any:
        """Answer a served method, and refuse others as a node does."""
        if method not in self.served:
            raise CallRefused(method, {"code": -32601, "message": "Method not found"})
        answer = self.served[method]
        return answer(*params) if callable(answer) else answer


def printed(served: dict[str, Any]) -> str:
    """Return the screen of a node."""
    report = reported_status(Answering(served), "http://node", None, time.time())  # type: ignore[arg-type]
    console = Console(width=140, file=io.StringIO())
    console.print(screen(report))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_each_method_may_be_missing() -> None:
    """Print the rest of the screen for each method that a node lacks."""
    for method in answers():
        served = answers()
        del served[method]
        assert "unavailable: " in printed(served), method


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: repr(value)[:20])
def test_nonsense_is_never_a_traceback(value: Any) -> None:
    """Each method in turn answers with nonsense; then all of them do."""
    for method in answers():
        assert "\x1b" not in printed(answers() | {method: value})
    with suppress(NodeUnreachable):
        printed(dict.fromkeys(answers(), value))


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 100_000, b'{"error": {}}', b""])
def test_what_is_no_node_is_exit_5(body: bytes) -> None:
    """Exit with 5 and one line where no node answers."""
    with serving(lambda request: body) as url:
        code, out, err = run("status", "--node", url)
    assert (code, out, err[:7]) == (5, "", "Error: ")
    assert run("status", "--node", "http://127.0.0.1:1")[0] == 5


def test_a_slow_node_has_one_limit_for_all_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer takes 3 s of the 10: four are waited for, each only as long as there is time."""
    clock, limits = [100.0], list[float]()

    class Slow:
        def exchange(self, call: HttpCall) -> HttpAnswer:
            limits.append(call.timeout)
            clock[0] += min(3.0, call.timeout)
            if call.timeout < 3:
                raise TooSlow("the time was up", sent=True)
            return HttpAnswer(200, node(answers())(json.loads(call.body or b"")))

    monkeypatch.setattr("cfnode.cli.status.asking.time", SimpleNamespace(monotonic=lambda: clock[0]))
    asking = Asking(Slow(), "http://node", 10.0)  # type: ignore[arg-type]
    report = reported_status(asking, "http://node", None, time.time())
    assert limits == [10.0, 7.0, 4.0, 1.0]
    assert (report["peers"], "best" in report) == (12, False)
    assert report["unavailable"]["finalized"] == "no answer within 10 s: try again, or raise --timeout"


def test_a_development_chain_has_a_clock_of_its_own() -> None:
    """Measure no age on a chain with its own clock, and print how far it is behind."""
    served = answers(system_chainType="Development", state_getStorage=at(1_700_000_000_000))
    report = status(served)
    assert ("ageSeconds" in report["best"], report["finalized"]["secondsBehind"]) == (False, 0.0)
    assert report["best"]["time"] == "2023-11-14T22:13:20Z"
    assert report["warnings"] == []
    with serving(node(served)) as url:
        lines = run("status", "--node", url)[1].splitlines()
    (line,) = (line for line in lines if line.startswith("chain time"))
    assert re.fullmatch(r"chain time +2023-11-14T22:13:20Z, \d{3,} d( \d+ h)? behind the clock", line)
    assert report["chainTime"] == "2023-11-14T22:13:20Z"
    assert report["secondsBehindClock"] > 86_400


def test_a_development_chain_in_real_time_is_not_behind() -> None:
    """Leave out the difference between the clocks where it is less than a minute."""
    served = answers(system_chainType="Development")
    assert status(served)["secondsBehindClock"] < 60
    with serving(node(served)) as url:
        assert "behind the clock" not in run("status", "--node", url)[1]


def test_the_genesis_block_has_no_time() -> None:
    """Print the final genesis block without a time, and do not call that a fault."""
    first = answers(chain_getHeader=lambda block=None: {"number": "0x0" if block == "0xfinal" else "0x2"})
    report = status(first | {"system_chainType": "Development"})
    assert report["unavailable"] == {}
    assert report["finalized"] == {"number": 0, "hash": "0xfinal", "blocksBehind": 2}
    assert re.search(r"#0, 2 blocks behind$", printed(first), re.MULTILINE)
    alone = status(answers(chain_getHeader={"number": "0x0"}, state_getStorage=None))
    assert (alone["state"], alone["unavailable"]) == ("unknown", {})


def test_a_node_that_waits_for_its_first_peer_is_not_syncing() -> None:
    """Report missing peers rather than a sync that cannot advance without them."""
    health = {"peers": 0, "isSyncing": True, "shouldHavePeers": True}
    report = status(answers(system_health=health))
    assert (report["state"], report["syncing"]) == ("noPeers", True)
    syncing = answers(system_health=health | {"peers": 1})
    assert status(syncing)["state"] == "syncing"
    assert "syncing, block 45 of 45 (100 %)" in printed(syncing)


def test_the_progress_of_a_sync_and_the_time_that_is_left() -> None:
    """Print the share of a sync and the time left, from the blocks of two rounds."""
    first: dict[str, Any] = {"syncing": True, "target": 100, "best": {"number": 40}}
    now = first | {"best": {"number": 60}, "state": "syncing", "peers": 3}
    now |= {"node": "http://node", "warnings": [], "unavailable": {}, "commandVersion": "1"}
    command._add_time_left(now, first, 20.0)
    assert now["secondsLeft"] == 40.0
    out = io.StringIO()
    Console(file=out, width=80).print(screen(now))
    assert "syncing, block 60 of 100 (60 %), about 40 s left" in out.getvalue()


def test_a_node_without_a_state_says_so() -> None:
    """Print "nothing synced yet" instead of the node's error about a discarded state."""
    health = {"peers": 3, "isSyncing": True, "shouldHavePeers": True}
    fresh = answers(system_health=health, chain_getHeader={"number": "0x0"}, state_getStorage=None)
    served = node({name: answer for name, answer in fresh.items() if name != "cf_account_info"})

    def answer(request: dict[str, Any]) -> bytes:
        if request["method"] == "cf_account_info":
            text = "Client error: UnknownBlock: State already discarded for 0xabc"
            return json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": 4003, "message": text}}).encode()
        return served(request)

    with serving(answer) as url:
        out = run("status", "--node", url)[1]
    assert "syncing, nothing synced yet, up to block 45" in out
    assert re.search(r"^account +unavailable: nothing synced yet$", out, re.MULTILINE)


def test_what_answers_no_call_is_named_with_what_to_do() -> None:
    """Name a proxy without its node, and a refused connection, with the next step."""

    class Refusing:
        def exchange(self, call: HttpCall) -> HttpAnswer:
            return HttpAnswer(502, b"<html>502 Bad Gateway</html>")

    with pytest.raises(NodeUnreachable, match="a proxy listens there, but its node does not answer"):
        Asking(Refusing(), "http://node", 10.0).call("system_health")  # type: ignore[arg-type]
    _, _, err = run("status", "--node", "http://127.0.0.1:1")
    assert (
        "Connection refused (http://127.0.0.1:1). Check that the node is running, and that --node is its "
        "address" in err
    )


def at(milliseconds: int) -> str:
    """Return a block's time as it is stored."""
    return "0x" + milliseconds.to_bytes(8, "little").hex()


def test_a_time_beyond_the_calendar_is_a_malformed_answer() -> None:
    """Name a block's time beyond the calendar as malformed instead of failing."""
    report = status(answers(state_getStorage=at(2**64 - 1)))
    assert report["unavailable"] == {"age": "the node's answer is malformed: a block's time is out of range"}


def test_watching_goes_on_while_the_node_is_gone_and_ends_by_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on watching after a round without an answer, and end by Ctrl-C with 130."""
    rounds = iter([True, False, True])
    alive = [True]

    def pause(seconds: float) -> None:
        assert seconds == 0.5
        try:
            alive[0] = next(rounds)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("cfnode.cli.status.command._pause", pause)
    with serving(lambda request: node(answers())(request) if alive[0] else b"") as url:
        done = CliRunner().invoke(cli, ["status", "--watch", "--every=0.5", "--json", "--node", url])
    assert done.exit_code == 130
    lines = [json.loads(line) for line in done.stdout.splitlines()[:4]]
    assert [line.get("peers") for line in lines] == [12, 12, None, 12]
    assert lines[2]["error"]["code"] == "BAD_ANSWER"
    assert "stopped watching" in done.stdout


def test_a_screen_has_the_time_of_its_refresh_and_ctrl_c_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the refresh's time on a terminal only; after Ctrl-C print no error."""

    def pressed(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cfnode.cli.status.command._pause", pressed)
    with serving(node(answers())) as url:
        line = ["status", "--watch", "--every=0.5", "--node", url]
        done = CliRunner().invoke(cli, line, env=PLACES["60 columns"])
        piped = CliRunner().invoke(cli, line, env=PLACES["pipe"])
    assert re.fullmatch(r"\d\d:\d\d:\d\d, again every 0\.5 s until Ctrl-C", plain(done.stdout)[-1])
    assert (done.exit_code, done.stderr) == (130, "stopped watching\n")
    assert "again every" not in piped.stdout
