"""A whole node starts, logs its identity, stops, and restarts."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import trio

from cfnode.core.aura import SLOT_MS
from cfnode.core.chainspec import genesis_hash, grandpa_authorities, to_json
from cfnode.core.grandpa import AuthoritySet, Justification, WarpFragment, WarpProof, verify_warp_proof
from cfnode.devchain.authorities import AuthoritiesError
from cfnode.devchain.clock import ClockError
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.devchain.spec import load_spec
from cfnode.node.config import PrometheusConfig
from cfnode.node.node import Node
from cfnode.serving.limits import MAX_REQUEST_HEAD_BYTES
from cfnode.store import StoreError
from tests.node.live import FLIP, LOOPBACK, live_node, made, reach
from tests.support.ports import free_port
from tests.support.waiting import LIMIT_S

INSTANT = DevConfig(seal="instant")


def raised(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the one error of nested groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    return error


async def test_a_single_development_node_is_ready_without_peers(tmp_path: Path) -> None:
    """Be ready without peers as a single development node."""
    async with live_node(tmp_path, dev=INSTANT) as node:
        assert node.health() == {"peers": 0, "isSyncing": False, "shouldHavePeers": False}
        assert node.chain.genesis_hash == genesis_hash(dev_chain_spec())
        assert node.is_authority
        assert node.local_peer_id.startswith("12D3KooW")
        await reach(node, 1)


async def test_without_dev_the_node_reports_why_it_has_no_peers_and_answers_from_genesis(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Report why a node has no peers, and answer from genesis meanwhile."""
    with caplog.at_level(logging.INFO, "cfnode"):
        alone = replace(LOOPBACK, reserved_only=True)  # no test dials the boot nodes of the main net
        async with live_node(tmp_path, chain="berghain", sync="light-rpc", network=alone) as node:
            assert node.health() == {"peers": 0, "isSyncing": True, "shouldHavePeers": True}
            assert node.chain.best == node.chain.finalized
            assert node.chain.genesis_hash.hex() == (
                "8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"
            )
            assert node.producer is None
            with pytest.raises(LookupError):
                await node.chain.runtime_at(node.chain.best.hash)
    assert "No peers: none is connected yet" in caplog.text
    assert "is not the Chainflip main net" not in caplog.text
    assert "⚡  Light-RPC mode enabled" in caplog.text


async def test_a_chain_with_the_name_of_the_main_net_and_another_genesis_is_a_warning_at_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Warn of a chain with the main net's name and another genesis, unless the node makes it."""
    path = tmp_path / "spec.json"
    path.write_text(to_json(replace(dev_chain_spec(), name="Chainflip-Berghain")))
    alone = replace(LOOPBACK, reserved_only=True)
    async with live_node(tmp_path / "base", chain=str(path), network=alone, brokers=()) as node:
        genesis = node.chain.genesis_hash.hex()
    (record,) = [
        record for record in caplog.records if "is not the Chainflip main net" in record.getMessage()
    ]
    assert record.levelno == logging.WARNING
    assert f"its genesis is 0x{genesis}, not 0x8b8c140b" in record.getMessage()
    caplog.clear()
    async with live_node(tmp_path / "dev", chain=str(path), dev=INSTANT, brokers=()) as node:
        await reach(node, 1)
    assert "is not the Chainflip main net" not in caplog.text, "it makes the chain itself"


async def test_a_development_chain_continues_after_a_restart(tmp_path: Path) -> None:
    """Continue a development chain after a restart, in its next slot and with its peer id."""
    async with live_node(tmp_path, dev=INSTANT) as node:
        await reach(node, 1)
        await made(node).control.hold_finality()
        await made(node).control.fund_account(b"\7" * 32, 5 * FLIP)
        await made(node).control.new_block()
        best, peer_id = node.chain.best, node.local_peer_id
        slot = node.chain.slot_of(best.hash)
    async with live_node(tmp_path, dev=INSTANT) as node:
        assert (node.chain.best, node.local_peer_id) == (best, peer_id)
        await reach(node, best.number + 1)
        assert node.chain.slot_of(node.chain.best.hash) == (slot or 0) + 1


async def test_light_rpc_recreates_the_database_at_each_start_and_keeps_the_keys(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Recreate the database at each start in light-rpc mode, and keep the keys."""
    for start in range(2):
        caplog.clear()
        with caplog.at_level(logging.INFO, "cfnode"):
            async with live_node(tmp_path, dev=INSTANT, sync="light-rpc") as node:
                assert node.chain.best.number == 0
                assert node.broker is not None
                await reach(node, 1)
        assert ("Database deleted and recreated" in caplog.text) == (start == 1)
        assert "🗝️ Broker key found in the keystore, enabling Broker-related RPCs" in caplog.text


async def test_a_second_node_on_the_same_base_path_is_refused(tmp_path: Path) -> None:
    """Refuse a second node on one base path, and leave the first one alone."""
    async with live_node(tmp_path, dev=INSTANT) as node:
        await reach(node, 1)
        with pytest.raises(BaseExceptionGroup) as refusal:
            async with live_node(tmp_path, dev=INSTANT):
                pass
        assert "in use by another cfnode" in str(raised(refusal.value))
        assert node.health()["isSyncing"] is False


async def test_a_database_of_another_chain_with_the_same_name_is_not_changed(tmp_path: Path) -> None:
    """Refuse a database of another chain with an equal name, and name the remedy."""
    from dataclasses import replace

    other = replace(dev_chain_spec(_many_entries()), id="dev")
    path = tmp_path / "other.json"
    path.write_text(to_json(other))
    async with live_node(tmp_path, dev=INSTANT):
        pass
    with pytest.raises(BaseExceptionGroup) as refusal:
        async with live_node(tmp_path, dev=INSTANT, chain=str(path)):
            pass
    error = raised(refusal.value)
    assert isinstance(error, StoreError)
    assert "holds another chain" in str(error)
    assert "purge-chain" in str(error)


def _many_entries() -> object:
    from cfnode.devchain.runtime.config import DevGenesis

    return DevGenesis(state_entries=3)


@pytest.mark.parametrize(
    ("dev", "error", "words"),
    [
        (DevConfig(authorities="0"), AuthoritiesError, "1 to 1000 authorities, not 0"),
        (DevConfig(authorities="/nowhere.json"), AuthoritiesError, "/nowhere.json: No such file"),
        (DevConfig(seal="instant", start_time=1 << 60), ClockError, "lies in the future"),
    ],
)
async def test_invalid_flags_are_refused_with_a_message(
    tmp_path: Path, dev: DevConfig, error: type[Exception], words: str
) -> None:
    """Refuse invalid flags with a message."""
    with pytest.raises(BaseExceptionGroup) as refusal:
        async with live_node(tmp_path, dev=dev):
            pass
    assert isinstance(raised(refusal.value), error)
    assert words in str(raised(refusal.value))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "a list of 1 to 1000"),
        ('[{"suri": "//A", "weight": 0}]', r"\[0\]\.weight: expected a number from 1"),
        ('[{"suri": "//A"}, {"aura": "//B"}]', r"\[1\]: expected \"suri\", or both"),
        ('[{"suri": "not a phrase"}]', r"\[0\]"),
        ('[{"suri": "//A", "wieght": 1}]', r"\[0\]: expected an object with"),
    ],
)
def test_the_error_of_a_malformed_authorities_file_names_the_position(
    tmp_path: Path, content: str, words: str
) -> None:
    """Name the position of a mistake in a file of authorities."""
    from cfnode.devchain.authorities import read_authorities

    path = tmp_path / "authorities.json"
    path.write_text(content)
    with pytest.raises(AuthoritiesError, match=words):
        read_authorities(str(path))


async def test_weighted_authorities_make_another_chain_and_all_of_them_work(tmp_path: Path) -> None:
    """Make a chain of weighted authorities whose epochs change the set, and prove all of them."""
    path = tmp_path / "authorities.json"
    path.write_text('[{"suri": "//Alice", "weight": 3}, {"aura": "//Bob", "grandpa": "//Charlie"}]')
    dev = DevConfig(seal="instant", authorities=str(path), epoch_blocks=4, silent=(1,))
    async with live_node(tmp_path, dev=dev, brokers=()) as node:
        assert node.spec.id.startswith("dev-")
        for _ in range(10):
            await made(node).control.new_block()
        await made(node).control.finalize()
        voters = await node.chain.voters()
        assert [weight for _, weight in voters.authorities] == [3, 1]
        assert voters.set_id >= 2, "each epoch is a change of the authorities"
        changed = [block.number for block in node.store.set_changes(0, 10)]
        assert len(changed) == voters.set_id
        assert all(b - a == 4 for a, b in pairwise(changed))
        proof = WarpProof(tuple(fragment(node, number) for number in changed), finished=False)
        start = AuthoritySet(0, grandpa_authorities(node.spec))
        target = verify_warp_proof(proof, start)
        assert (target.header.number, target.authorities.set_id) == (changed[-1], voters.set_id)


def fragment(node: Node, number: int) -> WarpFragment:
    """Return the warp fragment of a block."""
    block = node.chain.hash_at(number)
    assert block is not None
    header = node.chain.header(block)
    assert header is not None
    ((_, encoded),) = node.chain.justifications(block)
    return WarpFragment(header, Justification.decode(encoded))


async def test_the_default_pace_runs_in_real_time(tmp_path: Path) -> None:
    """Choose real time for the default pace."""
    async with live_node(tmp_path, dev=DevConfig(), brokers=()) as node:
        await reach(node, 1)
        assert made(node).clock.is_real
        slot = node.chain.slot_of(node.chain.best.hash)
        assert slot is not None
        assert 0 <= made(node).clock.now_ms() - slot * SLOT_MS < 60_000


async def test_the_metrics_port_answers_with_substrates_names(tmp_path: Path) -> None:
    """Serve metrics under Substrate's names, and refuse other requests."""
    port = free_port()
    prometheus = PrometheusConfig(port=port)
    async with live_node(tmp_path, dev=INSTANT, prometheus=prometheus) as node:
        await reach(node, 1)
        await wait_final(node, 1)
        node.metrics.rpc.call_started("ws", "system_health")
        node.metrics.rpc.call_finished("ws", "system_health", 0.001, is_error=False, is_rate_limited=False)
        text = (await http(port, request("GET /metrics"))).decode()
        head, _, body = text.partition("\r\n\r\n")
        status, _, fields = head.partition("\r\n")
        assert status.split()[1] == "200"
        assert "content-type: text/plain; version=0.0.4" in fields.lower()
        for line in (
            'substrate_block_height{chain="dev",status="best"} 1.0',
            'substrate_block_height{chain="dev",status="finalized"} 1.0',
            'substrate_node_roles{chain="dev"} 4.0',
            'substrate_ready_transactions_number{chain="dev"} 0.0',
            'substrate_sub_libp2p_peers_count{chain="dev"} 0.0',
            'substrate_sub_libp2p_network_bytes_total{chain="dev",direction="in"} 0.0',
            'substrate_sub_libp2p_network_bytes_total{chain="dev",direction="out"} 0.0',
            'cfnode_peer_bans_total{chain="dev"} 0.0',
            'cfnode_network_held_bytes{chain="dev"} 0.0',
            'substrate_number_leaves{chain="dev"} 1.0',
            "# TYPE substrate_rpc_calls_started counter",
            'substrate_rpc_calls_started{chain="dev",method="system_health",protocol="ws"} 1.0',
            'substrate_build_info{chain="dev",name="cfnode",version="',
        ):
            assert line in body.replace('status="best",chain="dev"', 'chain="dev",status="best"').replace(
                'status="finalized",chain="dev"', 'chain="dev",status="finalized"'
            ), line
        assert "_created" not in body
        assert (await http(port, request("GET /"))).startswith(b"HTTP/1.1 404")
        assert (await http(port, request("POST /metrics"))).startswith(b"HTTP/1.1 405")
        endless = await http(port, b"x" * (MAX_REQUEST_HEAD_BYTES + 1))
        assert not endless or endless.startswith(b"HTTP/1.1 431"), "refused, or cut off"


async def wait_final(node: Node, number: int) -> None:
    """Wait until a block with this number is final."""
    with trio.fail_after(LIMIT_S), node.chain.subscribe() as events:
        while node.chain.finalized.number < number:
            await events.__anext__()


def request(line: str) -> bytes:
    """Return a request whose answer ends with the connection; else the server finds it idle."""
    return f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()


async def http(port: int, request: bytes) -> bytes:
    """Send bytes, and return all that comes back."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(request)
        answer = b""
        try:
            while chunk := await stream.receive_some(65_536):
                answer += chunk
        except trio.BrokenResourceError:
            return b""
        return answer


@pytest.mark.world
async def test_a_killed_executor_costs_nothing_but_time(tmp_path: Path) -> None:
    """Lose no block when the executor is killed five times."""
    async with live_node(tmp_path, dev=DevConfig(seal="slots", block_time=50)) as node:
        await reach(node, 2)
        for _ in range(5):
            assert node.executor.pid is not None
            os.kill(node.executor.pid, signal.SIGKILL)
            await reach(node, node.chain.best.number + 2)
        assert node.broker is not None
        await node.broker.register_account()
        numbers = range(1, node.chain.best.number + 1)
        assert all(node.chain.hash_at(number) is not None for number in numbers)


def test_the_default_genesis_depends_on_no_flag_but_those_that_lie_in_it() -> None:
    """Derive the default genesis from no flag but those that are part of it."""
    from cfnode.devchain.authorities import read_authorities

    config = DevConfig(seal="instant", authorities="1")
    assert load_spec("dev", config, read_authorities("1")) == dev_chain_spec()
    assert load_spec("dev", DevConfig(authorities="2"), read_authorities("2")).id != "dev"
