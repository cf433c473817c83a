"""author_* on a running node: transactions into the pool, their statuses, their refusals; keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cfnode.core.extrinsic import extrinsic_hash
from cfnode.core.hashing import blake2_256
from cfnode.core.keys import Keypair
from cfnode.core.validity import Invalid, UnknownValidity
from cfnode.node.pool import errors as pool_errors
from cfnode.rpc.table.errors import explain
from tests.rpc.conftest import ALICE, MakeServed, Served


def hexed(data: bytes) -> str:
    """Return bytes as hex."""
    return "0x" + data.hex()


async def test_a_transaction_waits_in_the_pool_until_a_block_takes_it(served_node: Served) -> None:
    """Keep a transaction in the pool until a block takes it."""
    extrinsic = await served_node.signed_remark()
    tx_hash = await served_node.call("author_submitExtrinsic", hexed(extrinsic))
    assert tx_hash == hexed(extrinsic_hash(extrinsic))
    assert await served_node.call("author_pendingExtrinsics") == [hexed(extrinsic)]
    head = await served_node.call("dev_newBlock")
    assert await served_node.call("author_pendingExtrinsics") == []
    block = await served_node.call("chain_getBlock", head)
    assert hexed(extrinsic) in block["block"]["extrinsics"]


async def test_a_watched_transaction_reports_each_status_until_finality(served_node: Served) -> None:
    """Report each status of a watched transaction until it is final, and end the subscription."""
    await served_node.call("dev_holdFinality")
    extrinsic = await served_node.signed_remark()
    async with served_node.websocket() as ws:
        identity = (await ws.call("author_submitAndWatchExtrinsic", hexed(extrinsic)))["result"]
        first = await ws.notification()
        assert first == {"subscription": identity, "result": "ready"}
        head = await served_node.call("dev_newBlock")
        assert (await ws.notification())["result"] == {"inBlock": head}
        await served_node.call("dev_finalize")
        assert (await ws.notification())["result"] == {"finalized": head}
        assert (await ws.call("author_unwatchExtrinsic", identity))["result"] is False


async def test_a_retracted_transaction_is_reported_and_included_again(served_node: Served) -> None:
    """Report a transaction whose block was retracted, and include it again."""
    await served_node.call("dev_holdFinality")
    root = await served_node.call("chain_getHead")
    extrinsic = await served_node.signed_remark()
    async with served_node.websocket() as ws:
        await ws.call("author_submitAndWatchExtrinsic", hexed(extrinsic))
        assert (await ws.notification())["result"] == "ready"
        block = await served_node.call("dev_newBlock")
        assert (await ws.notification())["result"] == {"inBlock": block}
        fork = await served_node.call("dev_newBlock", {"parent": root, "transactions": []})
        await served_node.call("dev_newBlock", {"parent": fork, "transactions": []})
        assert (await ws.notification())["result"] == {"retracted": block}
        assert (await ws.notification())["result"] == "ready"
        again = await served_node.call("dev_newBlock")
        assert (await ws.notification())["result"] == {"inBlock": again}


async def test_refused_transactions_have_substrates_codes(served_node: Served) -> None:
    """Refuse transactions with Substrate's codes and texts."""
    extrinsic = await served_node.signed_remark()
    await served_node.call("author_submitExtrinsic", hexed(extrinsic))
    assert await served_node.error("author_submitExtrinsic", hexed(extrinsic)) == {
        "code": 1013,
        "message": "Transaction Already Imported",
        "data": "Any { .. }",
    }
    poor = Keypair.from_suri("//Nobody", "sr25519")
    payment = await served_node.error(
        "author_submitExtrinsic", hexed(await served_node.signed_remark(0, poor))
    )
    assert payment == {
        "code": 1010,
        "message": "Invalid Transaction",
        "data": "Inability to pay some fees (e.g. account balance too low)",
    }
    bad = await served_node.signed_remark(genesis_hash=bytes(32))
    assert (await served_node.error("author_submitExtrinsic", hexed(bad)))[
        "data"
    ] == "Transaction has a bad signature"
    await served_node.call("dev_newBlock")
    old = await served_node.signed_remark(0, spec_version=1)
    assert (await served_node.error("author_submitExtrinsic", hexed(old)))["code"] == 1010


UNKNOWN = "0x" + "11" * 32
OPAQUE = "Could not decode `OpaqueExtrinsic.0`:\n\t"


@pytest.mark.parametrize(
    ("extrinsic", "reason"),
    [
        ("", "Not enough data to fill buffer\n"),
        ("0x01", "Not enough data to fill buffer\n"),
        ("0x0100", "out of range decoding Compact<u32>\n"),
        ("0x020000", "Not enough data to fill buffer\n"),
        ("0x02000000", "out of range decoding Compact<u32>\n"),
        ("0x0300000000", "out of range decoding Compact<u32>\n"),
        ("0x07", "out of range decoding Compact<u32>\n"),
        ("0x04", "Not enough data to decode vector\n"),
        ("0x0801", "Not enough data to decode vector\n"),
    ],
)
async def test_bytes_that_are_no_extrinsic_are_refused_as_the_official_node_does(
    served_node: Served, extrinsic: str, reason: str
) -> None:
    """Refuse bytes that are not an extrinsic in the official words of each method."""
    assert await served_node.error("author_submitExtrinsic", extrinsic) == {
        "code": 1040,
        "message": f"Client error: {OPAQUE}{reason}",
    }
    async with served_node.websocket() as ws:
        answer = await ws.call("author_submitAndWatchExtrinsic", extrinsic)
        assert answer["error"] == {
            "code": 1001,
            "message": f"Extrinsic has invalid format: {OPAQUE}{reason}",
        }
    assert await served_node.error("system_dryRun", extrinsic) == {
        "code": 2,
        "message": "Unable to dry run extrinsic",
        "data": OPAQUE + reason,
    }
    assert await served_node.error("payment_queryInfo", extrinsic) == {
        "code": 2,
        "message": "Unable to query dispatch info.",
        "data": f'Error {{ cause: Some(Error {{ cause: None, desc: "{reason[:-1]}" }}), '
        'desc: "Could not decode `OpaqueExtrinsic.0`" }',
    }


TRAP = "Execution failed: Execution aborted due to trap: wasm trap: wasm `unreachable` instruction executed\n"


@pytest.mark.parametrize("extrinsic", ["0x00", "00", "0x0", "0x00ff"])
async def test_an_extrinsic_of_no_bytes_makes_the_runtime_panic(served_node: Served, extrinsic: str) -> None:
    """Panic in the runtime on an extrinsic of no bytes, as the official one does, and ban it."""
    error = await served_node.error("author_submitExtrinsic", extrinsic)
    text = TRAP + "WASM backtrace:\n"
    assert error["code"] == 1002
    assert error["message"].startswith(f"Verification Error: Runtime error: {text}")
    assert error["data"].startswith('RuntimeApi("' + text.replace("\n", "\\n"))
    again = await served_node.error("author_submitExtrinsic", extrinsic)
    assert again == {"code": 1012, "message": "Transaction is temporarily banned"}
    error = await served_node.error("system_dryRun", extrinsic)
    assert (error["code"], error["message"]) == (1, "Unable to dry run extrinsic.")
    assert error["data"].startswith(text)


async def test_0x_is_optional_and_what_follows_an_extrinsic_is_left_out(
    served_node: Served,
) -> None:
    """Accept an extrinsic without 0x, and leave out what follows it."""
    extrinsic = await served_node.signed_remark()
    assert (await served_node.call("system_dryRun", extrinsic.hex() + "ffff")) == "0x0000"
    submitted = await served_node.call("author_submitExtrinsic", extrinsic.hex() + "ffff")
    assert submitted == hexed(blake2_256(extrinsic))
    assert await served_node.call("author_pendingExtrinsics") == [hexed(extrinsic)]
    assert await served_node.call("author_removeExtrinsic", [{"extrinsic": extrinsic.hex()}]) == [submitted]


async def test_session_keys_are_made_and_found_on_an_authority(served_node: Served) -> None:
    """Make session keys on an authority and find them by their types."""
    keys = await served_node.call("author_rotateKeys")
    assert len(keys) == 2 + 2 * 64
    assert await served_node.call("author_hasSessionKeys", keys) is True
    assert await served_node.call("author_hasSessionKeys", "0x" + "11" * 64) is False
    assert await served_node.call("author_hasKey", keys[:66], "aura") is True
    assert await served_node.call("author_hasKey", keys[66:], "gran") is True
    assert await served_node.error("author_hasSessionKeys", "0x11") == {
        "code": 1040,
        "message": "Session keys are not encoded correctly",
    }
    assert await served_node.error("author_hasKey", keys[66:], "grandpa") == {
        "code": 1040,
        "message": "Invalid key type ID format (should be of length four)",
    }


@pytest.mark.parametrize(
    ("method", "params", "error"),
    [
        ("offchain_localStorageGet", ("PERSISTENT", "0x01"), None),
        ("offchain_localStorageClear", ("PERSISTENT", "01"), None),
        ("offchain_localStorageGet", ("LOCAL", "0x01"), (5001, "This storage kind is not available yet")),
        (
            "offchain_localStorageSet",
            ("PERSISTENT", "0x01", "0x"),
            (-32000, "No offchain workers run on this node: nothing would read what is written here"),
        ),
        (
            "state_traceBlock",
            (UNKNOWN,),
            (
                4001,
                f'Cannot resolve a block range [\'"{UNKNOWN}"\' ... \'"None"]. This node traces no blocks',
            ),
        ),
    ],
)
async def test_methods_of_other_nodes_are_listed_and_refused_with_a_reason(
    served_node: Served, method: str, params: tuple[str, ...], error: tuple[int, str] | None
) -> None:
    """List methods of other kinds of nodes, and refuse them with a reason."""
    assert method in (await served_node.call("rpc_methods"))["methods"]
    answer = await served_node.http.call(method, *params)
    if error is None:
        assert answer["result"] is None
    else:
        assert answer["error"] == {"code": error[0], "message": error[1]}


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        (
            pool_errors.InvalidTransaction(Invalid("Stale")),
            1010,
            "Invalid Transaction",
            "Transaction is outdated",
        ),
        (
            pool_errors.InvalidTransaction(Invalid("Custom", 7)),
            1010,
            "Invalid Transaction",
            "Custom error: 7",
        ),
        (
            pool_errors.UnknownTransaction(UnknownValidity("CannotLookup")),
            1011,
            "Unknown Transaction Validity",
            "UnknownTransaction::CannotLookup",
        ),
        (pool_errors.TemporarilyBanned(), 1012, "Transaction is temporarily banned", None),
        (
            pool_errors.TooLowPriority(5, 3),
            1014,
            "Priority is too low: (5 vs 3)",
            "The transaction has too low priority to replace another transaction already in the pool.",
        ),
        (pool_errors.CycleDetected(), 1015, "Cycle Detected", None),
        (
            pool_errors.ImmediatelyDropped(),
            1016,
            "Immediately Dropped",
            "The transaction couldn't enter the pool because of the limit",
        ),
    ],
)
def test_each_pool_error_has_its_code(error: Exception, code: int, message: str, data: Any) -> None:
    """Give each error of the pool its official code, message and data."""
    answer = explain(error, "author_submitExtrinsic")
    assert (answer.code, answer.message, answer.data) == (code, message, data)


async def test_a_transaction_is_thrown_out_by_hash_or_by_its_bytes(served_node: Served) -> None:
    """Remove a transaction by hash or bytes, with those that depend on it."""
    first, second = await served_node.signed_remark(0), await served_node.signed_remark(1)
    for extrinsic in (first, second):
        await served_node.call("author_submitExtrinsic", hexed(extrinsic))
    removed = await served_node.call("author_removeExtrinsic", [{"extrinsic": hexed(first)}])
    assert set(removed) == {hexed(extrinsic_hash(first)), hexed(extrinsic_hash(second))}
    assert await served_node.call("author_pendingExtrinsics") == []
    assert await served_node.call("author_removeExtrinsic", [{"hash": "0x" + "11" * 32}]) == []
    assert (await served_node.error("author_removeExtrinsic", ["0x11"]))["code"] == -32602


async def test_keys_are_inserted_and_found(served_node: Served) -> None:
    """Insert and find a key, and keep a secret out of the error."""
    public = hexed(ALICE.public)
    assert await served_node.call("author_hasKey", public, "aura") is False
    assert await served_node.call("author_insertKey", "aura", "//Alice", public) is None
    assert await served_node.call("author_hasKey", public, "aura") is True
    wrong = await served_node.error("author_insertKey", "aura", "//Bob", public)
    assert "//Bob" not in json.dumps(wrong)
    assert (await served_node.error("author_insertKey", "toolong", "//Bob", public))["code"] == 1040
    assert wrong["message"] == "The key store is unavailable"


async def test_over_http_unsafe_author_methods_are_denied_by_policy(make_served: MakeServed) -> None:
    """Deny unsafe methods over HTTP where the policy is safe."""
    from cfnode.node.config import RpcConfig

    served = await make_served(rpc=RpcConfig(methods="safe"))
    for method in ("author_insertKey", "author_hasKey", "author_rotateKeys", "dev_newBlock", "system_peers"):
        assert await served.error(method) == {
            "code": -32601,
            "message": "RPC call is unsafe to be called externally",
        }
