"""Every listed method answers, whatever it is given: with a result, or with an error that is documented.

One node for all, in a process of its own: an archive of a development chain with the keys of a broker and a
liquidity provider, on which everything is listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Final

import pytest
import trio

from cfnode.core.keys import Keypair
from cfnode.devchain.methods.rows import METHODS
from cfnode.rpc.reference import full_table
from cfnode.rpc.table.rows import Method, Row, Subscription, Unsubscribe
from cfnode.store.keystore import Keystore
from tests.conftest import shared
from tests.lengths import repeats
from tests.process import ROOT, NodeProcess, running_node
from tests.rpc.clients import Http, WebSocket
from tests.rpc.mutations import mutated
from tests.rpc.sane import PARAMS, REFUSED, UNSUPPORTED
from tests.signing import metadata_of, signed

DESIGN: Final = ROOT / "docs" / "design" / "rpc.md"
TABLE: Final = full_table(("dev", "", METHODS))
NAMES: Final = [row.name for row in TABLE.rows]
GARBAGE: Final[list[Any]] = [
    [None] * 10,
    [0] * 10,
    [True] * 10,
    ["0x" + "11" * 32] * 10,
    ["☃" * 100] * 10,
    [{}] * 10,
    [[]] * 10,
    [-1, 2**300, 1.5, "0x", "0xzz", [[[]]], {"a": {"b": []}}],
    {"at": "0x12", "hash": None, "params": []},
]
CODES: Final = frozenset(
    {
        *(-32602, -32000),
        *range(-32026, -32019),
        *(-32801, -32802, -32803, -32804),
        *range(1001, 1020),
        *(1, 2, 4, 1030, 1040, 5001, 2000, 2001, 2002, 3001, 4001, 4002, 4003),
    }
)
FAULT_WITHOUT_TEXT: Final = {"code": -32603, "message": "Internal error while processing request."}
"""The answer of Chainflip's own methods to an error inside a runtime API that has no text, and to a malformed
address inside its arguments.
"""
SUBSCRIPTION_OVER_HTTP: Final = {"code": -32603, "message": "Internal error"}
"""What a method that subscribes says over HTTP, as in the official node."""
CHAINFLIP_METHODS: Final = ("cf_", "broker_", "lp_")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield an archive of a development chain that seals at once, with a registered broker and provider."""
    folder = tmp_path_factory.mktemp("everything")
    keystore = Keystore(folder / "base" / "chains" / "dev" / "keystore")
    for key_type, suri in (("brok", "//Broker"), ("lqpr", "//Provider")):
        keystore.insert(key_type, suri)
    archive = ("--blocks-pruning=archive", "--state-pruning=archive")
    with running_node(folder, "--dev", "--dev-seal=instant", "--no-prometheus", *archive) as node:
        node.call("dev_newBlock")
        node.call("broker_register_account")
        node.call("lp_register_account")
        yield node
        assert "Traceback" not in node.log
        assert "bug" not in node.log


def needs_parameters(row: Row) -> bool:
    """Return whether a call without any is wrong."""
    return any(not param.optional for param in row.params)


def row_of(name: str) -> Row:
    """Return the row behind a name."""
    row = TABLE.by_name[name]
    assert not isinstance(row, Unsubscribe)
    return row


def transaction(node: NodeProcess) -> str:
    """Return a signed System.remark that can enter the next block."""
    alice = Keypair.from_suri("//Alice", "sr25519")
    return signed(node, metadata_of(node), alice, "System", "remark", remark=b"hello")


def filled(node: NodeProcess, params: list[Any]) -> list[Any]:
    """Return the parameters with what the running chain knows."""

    def fill(value: Any) -> Any:
        if value == "@best":
            return node.call("chain_getBlockHash")
        if value == "@genesis":
            return node.call("chain_getBlockHash", 0)
        return transaction(node) if value == "@transaction" else value

    return [fill(value) for value in params]


def check(name: str, params: Any, answer: Any) -> None:
    """Check that it is a result, or an error of the documented ones."""
    if "result" in answer:
        return
    error = answer["error"]
    if error == SUBSCRIPTION_OVER_HTTP and isinstance(TABLE.by_name[name], Subscription):
        return
    if error == FAULT_WITHOUT_TEXT and name.startswith(CHAINFLIP_METHODS):
        return
    assert error["code"] in CODES, (name, params, error)


def test_exactly_what_is_served_is_listed(node: NodeProcess) -> None:
    """List exactly what is served."""
    assert node.call("rpc_methods")["methods"] == TABLE.names


def test_every_method_with_parameters_has_sane_ones_here() -> None:
    """Have sane parameters here for every method that needs some."""
    needing = {row.name for row in TABLE.rows if needs_parameters(row) and not row.name.startswith("dev_")}
    assert needing - set(PARAMS) == set(), "tests/rpc/sane.py has to say how these are called"
    assert set(PARAMS) - set(NAMES) == set()
    assert set(REFUSED) - set(NAMES) == set()


def test_what_the_official_node_lists_is_served_or_left_out_for_a_reason() -> None:
    """Serve what the official node lists, or leave it out for a documented reason."""
    left_out = set(shared("methods.txt").read_text().split()) - set(TABLE.names)
    _, _, section = DESIGN.read_text().partition("## What is not served")
    rows = re.findall(r"^\| (`.*`) \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    patterns = {pattern for names, reason in rows if reason for pattern in re.findall("`(.*?)`", names)}
    assert [name for name in left_out if not any(fnmatchcase(name, pattern) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in left_out)] == []


@pytest.mark.parametrize("name", NAMES)
async def test_a_method_answers_nothing_garbage_and_what_makes_sense(name: str, node: NodeProcess) -> None:
    """Answer garbage and sane calls of every method with a result or a documented error."""
    row = row_of(name)
    port = int(node.url.rpartition(":")[2])
    async with Http(port) as http, WebSocket(port) as ws:
        with trio.fail_after(60):
            for alias in (name, *row.aliases):
                check(alias, [], await http.call(alias))
            for params in GARBAGE[:: repeats(1, 3)]:
                for answer in await both(http, ws, row, params):
                    check(name, params, answer)
            if sane := filled(node, PARAMS.get(name, [])):
                for params in mutated(sane, name, repeats(3, 1)):
                    for answer in await both(http, ws, row, params):
                        check(name, params, answer)
            if name.startswith("dev_"):  # finality may have been held, or its voters silenced
                await http.call("dev_silence", [])
                await http.call("dev_holdFinality", False)
            if name in PARAMS or not needs_parameters(row):
                await ask_sensibly(http, ws, row, filled(node, PARAMS.get(name, [])))


async def both(http: Http, ws: WebSocket, row: Row, params: Any) -> list[Any]:
    """Return the answers to a call, over WebSocket too where that makes a difference."""
    message = {"jsonrpc": "2.0", "id": 1, "method": row.name, "params": params}
    answers = [(await http.post(message)).json()]
    if isinstance(row, Subscription) or row.takes_connection:
        await ws.send(json.dumps(message).encode())
        answers.append(await ws.message())
        while answers[-1].get("id") != 1:
            answers[-1] = await ws.message()
    return answers


async def ask_sensibly(http: Http, ws: WebSocket, row: Row, params: list[Any]) -> None:
    """Check for a result, or the documented refusal; a subscription can be ended."""
    is_plain = isinstance(row, Method) and not row.takes_connection
    answer = await (http if is_plain else ws).call(row.name, *params)
    if "error" in answer:
        expected = UNSUPPORTED if row.name.startswith("cf_") else None
        assert answer["error"]["code"] in (expected, REFUSED.get(row.name)), answer
    elif isinstance(row, Subscription):
        assert (await http.call(row.name, *params))["error"] == SUBSCRIPTION_OVER_HTTP
        for end in (row.unsubscribe, *row.unsubscribe_aliases):
            assert isinstance((await ws.call(end, answer["result"]))["result"], bool)
