"""state_* and childstate_* on a running node, and what is said about blocks whose state is gone."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.hashing import blake2_256
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.trie import ProofState
from cfnode.rpc.substrate import storage, storage_changes
from tests.rpc.conftest import MakeServed, Served
from tests.support.rpc.storage import NUMBER, UNKNOWN
from tests.support.waiting import LIMIT_S

CODE = "0x" + b":code".hex()
ABSENT = "0x" + b"absent".hex()
CHILD = "0x" + b":child_storage:default:some".hex()


class Plain:
    """A state that is a dictionary."""

    def __init__(self, values: dict[bytes, bytes]) -> None:
        self.values = values
        self.root = b""

    def get(self, key: bytes, child: bytes = b"") -> bytes | None:
        """Return a key's value."""
        return self.values.get(key)

    def next_key(self, key: bytes, child: bytes = b"") -> bytes | None:
        """Return the next key in order."""
        return min((other for other in self.values if other > key), default=None)

    def node(self, path: bytes, child: bytes = b"") -> bytes | None:
        """Return no node: this state has no trie."""
        return None


small = st.binary(max_size=3)


@given(st.dictionaries(small, small), small, st.integers(0, 5), st.none() | small)
def test_a_page_is_what_sorting_and_cutting_gives(
    values: dict[bytes, bytes], prefix: bytes, count: int, start: bytes | None
) -> None:
    """Page through keys as sorting and cutting does."""
    below = sorted(key for key in values if key.startswith(prefix))
    after = [key for key in below if start is None or key > start or start < prefix]
    assert storage.page(Plain(values), prefix, count, start) == after[:count]
    assert storage.all_keys(Plain(values), prefix) == below
    assert storage.all_pairs(Plain(values), prefix) == [(key, values[key]) for key in below]


def test_a_walk_ends_with_an_error_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """End a walk over pairs with an error before it fills the memory."""
    monkeypatch.setattr(storage, "MAX_STORAGE_ANSWER_BYTES", 100)
    state = Plain({bytes([number]): b"x" * 10 for number in range(20)})
    with pytest.raises(storage.RpcError, match="too big"):
        storage.all_pairs(state, b"")
    assert len(storage.all_keys(state, b"")) == 20


async def test_storage_with_its_hash_and_size(served_node: Served) -> None:
    """Return a value with its hash and size, None for an absent key, and an older block's value."""
    value = await served_node.call("state_getStorage", CODE)
    raw = bytes.fromhex(value[2:])
    assert raw.startswith(b"cfnode-dev:")
    assert await served_node.call("state_getStorageHash", CODE) == "0x" + blake2_256(raw).hex()
    assert await served_node.call("state_getStorageSize", CODE) == len(raw)
    for method in ("state_getStorage", "state_getStorageAt", "state_getStorageHash", "state_getStorageSize"):
        assert await served_node.call(method, ABSENT) is None
    genesis = await served_node.call("chain_getBlockHash", 0)
    assert await served_node.call("state_getStorage", CODE, genesis) == value


async def test_keys_in_pages(served_node: Served) -> None:
    """Return keys in pages that add up to the whole, and refuse a page over the maximum."""
    everything = await served_node.call("state_getKeys", "0x")
    assert everything == sorted(everything)
    assert len(everything) > 30
    paged: list[str] = []
    while page := await served_node.call("state_getKeysPaged", "0x", 7, paged[-1] if paged else None):
        paged += page
    assert paged == everything
    prefix = everything[5][:34]
    below = [key for key in everything if key.startswith(prefix)]
    assert await served_node.call("state_getKeysPagedAt", prefix, 1000) == below
    assert await served_node.error("state_getKeysPaged", None, 1001) == {
        "code": 4002,
        "message": "count exceeds maximum value. value: 1001, max: 1000",
    }
    pairs = await served_node.call("state_getPairs", prefix)
    assert [key for key, _ in pairs] == below


async def test_a_read_proof_proves_values_and_absences(served_node: Served) -> None:
    """Prove values and an absence by entries in the order of their bytes, as Substrate sorts them."""
    keys = (await served_node.call("state_getKeys", "0x"))[:5]
    answer = await served_node.call("state_getReadProof", [*keys, ABSENT])
    assert answer["at"] == await served_node.call("chain_getHead")
    header = await served_node.call("chain_getHeader")
    proof = ProofState(
        bytes.fromhex(header["stateRoot"][2:]), [bytes.fromhex(entry[2:]) for entry in answer["proof"]]
    )
    assert answer["proof"] == sorted(set(answer["proof"])), "in the order of their bytes, as Substrate's"
    for key in keys:
        value = proof.get(bytes.fromhex(key[2:]))
        assert value is not None
        assert "0x" + value.hex() == await served_node.call("state_getStorage", key)
    assert proof.get(b"absent") is None


async def test_metadata_and_version(served_node: Served) -> None:
    """Return metadata of version 14 and the runtime's version with the official members."""
    metadata = decode_metadata(bytes.fromhex((await served_node.call("state_getMetadata"))[2:]))
    assert metadata.version == 14
    assert metadata.pallet("System").index == 0
    version = await served_node.call("state_getRuntimeVersion")
    assert list(version) == [
        "specName",
        "implName",
        "authoringVersion",
        "specVersion",
        "implVersion",
        "apis",
        "transactionVersion",
        "systemVersion",
        "stateVersion",
    ]
    assert version["systemVersion"] == version["stateVersion"] == 1
    assert all(len(name) == 18 and isinstance(number, int) for name, number in version["apis"])
    assert await served_node.call("chain_getRuntimeVersion") == version


async def test_runtime_calls(served_node: Served) -> None:
    """Call the runtime, and refuse an unknown function in the official words."""
    output = await served_node.call("state_call", "Core_version", "0x")
    assert bytes.fromhex(output[2:])[1:].startswith(b"chainflip-node")
    genesis = await served_node.call("chain_getBlockHash", 0)
    assert await served_node.call("state_callAt", "Core_version", "0x", genesis) == output
    assert await served_node.error("state_call", "No_such_function", "0x") == {
        "code": 4003,
        "message": "Client error: Execution failed: Other: Exported method No_such_function is not found",
    }
    assert (await served_node.error("state_call", "Core_version", "zz"))["code"] == -32602


async def test_storage_changes_are_queried_and_followed(served_node: Served) -> None:
    """Query and follow storage over blocks, with the official errors for ranges that cannot be."""
    number = "0x" + served_node.node.chain.best.number.to_bytes(4, "little").hex()
    metadata = (await served_node.node.chain.runtime_at(served_node.node.chain.best.hash)).metadata
    key = "0x" + metadata.storage_key("System", "Number").hex()
    first = await served_node.call("chain_getHead")
    assert await served_node.call("state_queryStorageAt", [key, ABSENT]) == [
        {"block": first, "changes": [[key, number], [ABSENT, None]]}
    ]
    async with served_node.websocket() as ws:
        identity = (await ws.call("state_subscribeStorage", [key, CODE, ABSENT]))["result"]
        begin = (await ws.notification())["result"]
        assert begin["block"] == first
        assert [entry[0] for entry in begin["changes"]] == [key, CODE, ABSENT]
        second = await served_node.call("dev_newBlock")
        changed = (await ws.notification())["result"]
        assert changed == {"block": second, "changes": [[key, "0x02000000"]]}
        assert (await ws.call("state_unsubscribeStorage", identity))["result"] is True
        await ws.call("state_subscribeStorage")
        assert (await ws.notification())["result"]["changes"] == []
        third = await served_node.call("dev_newBlock")
        everything = (await ws.notification())["result"]
        assert everything["block"] == third
        assert [key, "0x03000000"] in everything["changes"]
    history = await served_node.call("state_queryStorage", [key, CODE], first)
    assert [entry["block"] for entry in history] == [first, second, third]
    assert [len(entry["changes"]) for entry in history] == [2, 1, 1]
    assert await served_node.error("state_queryStorage", [key], third, first) == {
        "code": 4001,
        "message": f'Cannot resolve a block range [\'"3 ({third})"\' ... \'"1 ({first})"]. '
        "from number > to number",
    }
    unknown = "0x" + "ab" * 32
    for method, asked in (("state_queryStorage", ([key], unknown, unknown)),
                          ("state_queryStorageAt", ([key], unknown))):  # fmt: skip
        assert await served_node.error(method, *asked) == {
            "code": 4001,
            "message": f'Cannot resolve a block range [\'"{unknown}"\' ... \'"Some({unknown})"]. '
            f"UnknownBlock: Header was not found in the database: {unknown}",
        }


async def test_a_key_that_is_asked_for_several_times_is_answered_once(served_node: Served) -> None:
    """Answer a key that is asked for several times once."""
    (answer,) = await served_node.call("state_queryStorageAt", [CODE, ABSENT, CODE, CODE])
    assert [entry[0] for entry in answer["changes"]] == [CODE, ABSENT]
    (again,) = await served_node.call("state_queryStorage", [CODE, CODE], answer["block"])
    assert [entry[0] for entry in again["changes"]] == [CODE]


async def test_all_changes_of_a_block_are_sent_even_if_it_is_final_at_once(served_node: Served) -> None:
    """Send all changes of a block even if it is final at once, when its overlay is already gone."""
    before = dict(await served_node.call("state_getPairs", "0x"))
    async with served_node.websocket() as ws:
        await ws.call("state_subscribeStorage")
        await ws.notification()
        await served_node.call("dev_newBlock", {"finalize": True})
        changes = dict((await ws.notification())["result"]["changes"])
    after = dict(await served_node.call("state_getPairs", "0x"))
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert changes == {key: after.get(key) for key in changed}


async def test_values_are_weighed_before_they_fill_the_memory(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse answers over the limit before they fill the memory, and count a repeated key once."""
    many = await served_node.call("state_getKeysPaged", "0x", 200)
    monkeypatch.setattr(storage, "MAX_STORAGE_ANSWER_BYTES", 100)
    monkeypatch.setattr(storage, "MAX_ADDED", 3)
    best = await served_node.call("chain_getBlockHash")
    for method, params in (
        ("state_queryStorageAt", [many]),
        ("state_queryStorage", [many, best]),
        ("state_getStorageSize", ["0x"]),
    ):
        assert (await served_node.error(method, *params))["code"] == -32008
    assert (await served_node.call("state_queryStorageAt", [NUMBER] * 26))[0]["block"] == best
    assert await served_node.call("state_queryStorageAt", []) == []


async def test_an_unchanged_runtime_version_is_sent_once(served_node: Served) -> None:
    """Send an unchanged runtime version once, not with each block."""
    async with served_node.websocket() as ws:
        await ws.call("state_subscribeRuntimeVersion")
        version = (await ws.notification())["result"]
        assert version == await served_node.call("state_getRuntimeVersion")
        await served_node.call("dev_newBlock")
        await ws.call("system_health")
        assert not ws._notifications


async def test_a_child_trie_that_is_not_there_is_empty(served_node: Served) -> None:
    """Answer for a child trie that does not exist as for an empty one."""
    assert await served_node.call("childstate_getKeys", CHILD, "0x") == []
    for count in (10, 1001, 2**32 - 1):  # without a maximum, unlike that of the top trie
        assert await served_node.call("childstate_getKeysPaged", CHILD, None, count) == []
    assert await served_node.call("childstate_getStorage", CHILD, "0x01") is None
    assert await served_node.call("childstate_getStorageEntries", CHILD, ["0x01", "0x02"]) == [None, None]
    assert await served_node.call("childstate_getStorageHash", CHILD, "0x01") is None
    assert await served_node.call("childstate_getStorageSize", CHILD, "0x01") is None
    assert await served_node.error("childstate_getStorage", "0x01", "0x01") == {
        "code": 4003,
        "message": "Client error: Invalid child storage key",
    }


READS: list[tuple[str, list[Any]]] = [
    ("state_getStorage", [CODE]),
    ("state_getStorageHash", [CODE]),
    ("state_getStorageSize", [CODE]),
    ("state_getKeys", ["0x"]),
    ("state_getKeysPaged", ["0x", 5, None]),
    ("state_getPairs", ["0x"]),
    ("state_getReadProof", [[CODE]]),
    ("state_queryStorageAt", [[CODE]]),
    ("state_getMetadata", []),
    ("state_getRuntimeVersion", []),
    ("state_call", ["Core_version", "0x"]),
    ("childstate_getStorage", [CHILD, "0x01"]),
    ("state_getChildReadProof", [CHILD, ["0x01"]]),
]


async def test_bytes_and_keys_are_read_with_and_without_0x(served_node: Served) -> None:
    """Read bytes and keys with and without 0x, and refuse others with the official position."""
    version = await served_node.call("state_call", "Core_version", "0x")
    assert await served_node.call("state_call", "Core_version", "") == version
    code = await served_node.call("state_getStorage", CODE)
    assert await served_node.call("state_getStorage", CODE[2:]) == code
    keys = await served_node.call("state_getKeysPaged", "0x", 2)
    assert await served_node.call("state_getKeysPaged", "", 2) == keys
    head = await served_node.call("chain_getBlockHash")
    assert await served_node.call("chain_getHeader", head[2:]) == await served_node.call("chain_getHeader")
    odd = "0x" + CODE[2:].lstrip("0")
    assert await served_node.call("state_getStorageSize", odd) == (len(code) - 2) // 2
    changes = [{"block": head, "changes": [[CODE, code]]}]
    assert await served_node.call("state_queryStorageAt", [CODE[2:]]) == changes
    error = {"code": -32602, "message": "Invalid params"}
    assert await served_node.error("state_call", "Core_version", "0xgg") == error | {
        "data": "invalid hex character: g, at 2 at line 1 column 7"
    }
    assert await served_node.error("state_getStorage", "0x00", "0x12") == error | {
        "data": "invalid length 2, expected a (both 0x-prefixed or not) hex string or byte array containing "
        "32 bytes at line 1 column 7"
    }


NOT_FOUND = f"Header was not found in the database: {UNKNOWN}"
BY_ITS_LAYER = {
    "state_call": f"UnknownBlock: Expect block number from id: BlockId::Hash({UNKNOWN})",
    "state_getMetadata": f"Api called for an unknown Block: {NOT_FOUND}",
    "state_getRuntimeVersion": f"Api called for an unknown Block: {NOT_FOUND}",
}


async def test_an_unknown_block_has_the_text_of_the_layer_that_misses_it(served_node: Served) -> None:
    """Refuse an unknown block in the text of the layer that misses it in the official node."""
    aliases = (("state_callAt", ["Core_version", "0x"]), ("chain_getRuntimeVersion", []))
    same_as = {"state_callAt": "state_call", "chain_getRuntimeVersion": "state_getRuntimeVersion"}
    for method, params in (*READS, *aliases):
        if method == "state_queryStorageAt":  # a range of one block
            continue
        text = BY_ITS_LAYER.get(same_as.get(method, method), f"UnknownBlock: {NOT_FOUND}")
        assert await served_node.error(method, *params, UNKNOWN) == {
            "code": 4003,
            "message": f"Client error: {text}",
        }, method


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("system_dryRun", "Unable to dry run extrinsic."),
        ("payment_queryInfo", "Unable to query dispatch info."),
        ("payment_queryFeeDetails", "Unable to query fee details."),
    ],
)
async def test_an_extrinsic_at_an_unknown_block_has_the_runtime_apis_text(
    served_node: Served, method: str, message: str
) -> None:
    """Refuse an extrinsic at an unknown block in the text of the runtime API."""
    assert await served_node.error(method, "0x0400", UNKNOWN) == {
        "code": 1,
        "message": message,
        "data": f"Api called for an unknown Block: {NOT_FOUND}",
    }


async def test_a_discarded_state_has_the_text_that_clients_know(make_served: MakeServed) -> None:
    """Refuse a discarded state in the text that clients look for, and keep its header."""
    served = await make_served(pruning=3)
    first = await served.call("dev_newBlock", {"finalize": True})
    with trio.fail_after(LIMIT_S):
        for _ in range(6):
            await served.call("dev_newBlock", {"finalize": True})
    for method, params in READS:
        if method not in ("state_getMetadata", "state_getRuntimeVersion"):  # these are remembered by code
            assert await served.error(method, *params, first) == {
                "code": 4003,
                "message": f"Client error: UnknownBlock: State already discarded for {first}",
            }, method
    assert (await served.call("chain_getHeader", first))["number"] == "0x1"
    assert await served.call("chain_getBlock", first) is None


async def test_many_storage_subscriptions_share_one_comparison_of_two_states(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare two states once for many subscriptions, each of which gets its own keys in its own order."""
    compared: list[tuple[bytes, bytes]] = []
    compare = storage_changes._compare

    async def counted(node: Any, old: bytes, new: bytes) -> Any:
        compared.append((old, new))
        return await compare(node, old, new)

    monkeypatch.setattr(storage_changes, "_compare", counted)
    all_keys = await served_node.call("state_getKeysPaged", "0x", 1000)
    async with served_node.websocket() as ws, served_node.websocket() as other:
        first = [
            (await ws.call("state_subscribeStorage", all_keys[number:]))["result"] for number in range(20)
        ]
        second = (await other.call("state_subscribeStorage", [*reversed(all_keys), ABSENT]))["result"]
        for _ in first:
            assert "changes" in (await ws.notification())["result"]
        before = dict((await other.notification())["result"]["changes"])
        await served_node.call("dev_newBlock")
        message = await other.notification()
        assert message["subscription"] == second
        block = message["result"]["block"]
        (now,) = await served_node.call("state_queryStorageAt", all_keys, block)
        expected = {key: value for key, value in now["changes"] if value != before[key]}
        assert len(expected) > 3
        assert dict(message["result"]["changes"]) == expected
        keys = [key for key, _ in message["result"]["changes"]]
        assert keys == [key for key in reversed(all_keys) if key in expected], "in the order of the question"
        for _ in first:
            params = await ws.notification()
            watched = all_keys[first.index(params["subscription"]) :]
            assert dict(params["result"]["changes"]) == {k: v for k, v in expected.items() if k in watched}
        assert len(compared) == 1


async def test_where_too_much_differs_the_keys_are_read_in_both_states(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read the watched keys in both states where too much differs to be kept."""
    monkeypatch.setattr(storage_changes, "MAX_KEPT_CHANGES_BYTES", 10)
    all_keys = await served_node.call("state_getKeysPaged", "0x", 1000)
    async with served_node.websocket() as ws:
        await ws.call("state_subscribeStorage", all_keys)
        before = dict((await ws.notification())["result"]["changes"])
        await served_node.call("dev_newBlock")
        message = (await ws.notification())["result"]
        (now,) = await served_node.call("state_queryStorageAt", all_keys, message["block"])
        assert dict(message["changes"]) == {k: v for k, v in now["changes"] if v != before[k]}


@pytest.mark.world
async def test_a_request_for_a_page_does_not_wait_for_all_requests_of_another_client(
    served_node: Served,
) -> None:
    """Answer a page before all requests of another client are answered."""
    keys = [f"0x{number:064x}" for number in range(4096)]
    async with served_node.websocket() as greedy, served_node.websocket() as other:
        call = {"jsonrpc": "2.0", "method": "state_subscribeStorage", "params": [keys]}
        for number in range(60):
            await greedy.send(json.dumps(call | {"id": number}).encode())
        while len((await other.call("state_getKeysPaged", "0x", 1000))["result"]) == 0:
            pass
        begun = 0
        with trio.move_on_after(0.05):  # less than all the answers take
            while True:
                begun += "params" in await greedy.message()
        assert begun < 60, "its questions had not all been answered first"
