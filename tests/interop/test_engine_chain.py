"""Other programs, and a light node of ours, on a chain in the genesis runtime with cfnode's engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.store.keystore import Keystore
from tests.process import NodeProcess, running_node
from tests.support.devchain.engine import Play, engine_spec, playing, share_compiled
from tests.support.interop.programs import report_of, script_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

LISTENING = re.compile(r"/ip4/127\.0\.0\.1/tcp/\d+/p2p/\w+")
ETH, BTC = {"chain": "Ethereum", "asset": "ETH"}, {"chain": "Bitcoin", "asset": "BTC"}
RECEIVER = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
REFUND = {
    "retry_duration": 0,
    "min_price": "0x0",
    "refund_address": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
}
BROKER = Keypair.from_suri("//Bob")
ASKED: dict[str, list[list[Any]]] = {
    "cf_swap_rate": [[ETH, BTC, hex(10**18)]],
    "cf_eth_state_chain_gateway_address": [[]],
}
"""What Chainflip's client asks of the methods that the release has."""


@dataclass(frozen=True)
class Engine:
    """A node with an author and an engine, which makes a block every two seconds."""

    play: Play
    spec: Path
    address: str

    @property
    def node(self) -> NodeProcess:
        """The node's process."""
        return self.play.node


@pytest.fixture(scope="module")
def engine(berghain_spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Yield a running chain with two pools."""
    folder = tmp_path_factory.mktemp("engine")
    spec = folder / "mine.json"
    engine_spec(berghain_spec, spec)
    with playing(spec, folder, "--dev-block-time=2000", "--listen-addr=/ip4/127.0.0.1/tcp/0") as play:
        wait_until(lambda: LISTENING.search(play.node.log) is not None, "the node listens")
        play.begin("Eth", "Btc")
        yield Engine(play, spec, LISTENING.findall(play.node.log)[0])


def test_a_light_node_opens_a_channel_and_sees_its_swap_paid(engine: Engine, tmp_path: Path) -> None:
    """Follow by TCP with a broker's key: channel, swap and payout are in blocks that are final there."""
    engine.play.call("dev_fundAccount", ss58.encode(BROKER.public), 10**21)
    chain = json.loads(engine.spec.read_text())["id"]
    share_compiled(tmp_path)
    Keystore(tmp_path / "base" / "chains" / chain / "keystore").insert("brok", "//Bob")
    flags = (f"--bootnodes={engine.address}", "--sync=light-rpc", "--no-prometheus")
    with running_node(
        tmp_path, f"--chain={engine.spec}", *flags, "--listen-addr=/ip4/127.0.0.1/tcp/0"
    ) as node:
        wait_until(lambda: not node.call("system_health")["isSyncing"], "the light node is in step")
        light = Play(node)
        light.call("broker_registerAccount")
        asked = (ETH, BTC, RECEIVER, 0, None, None, None, REFUND)
        opened = light.call("broker_request_swap_deposit_address", *asked)
        engine.play.deposit(opened["address"], "Eth")
        paid = wait_for_event(light, "BitcoinBroadcaster", "BroadcastSuccess", opened["issued_block"])
        for number in range(opened["issued_block"], paid + 1):
            block = light.call("chain_getBlockHash", number)
            assert block == engine.play.call("chain_getBlockHash", number)
        assert node.stop() == 0


def wait_for_event(light: Play, pallet: str, name: str, first: int) -> int:
    """Return the final block of a light node that has an event."""
    number = first

    def has_come() -> bool:
        nonlocal number
        while number <= int(
            light.call("chain_getHeader", light.call("chain_getFinalizedHead"))["number"], 16
        ):
            records = light.value_at(light.call("chain_getBlockHash", number), "System", "Events")
            if any(record["event"][0] == pallet and name in record["event"][1] for record in records):
                return True
            number += 1
        return False

    wait_until(has_come, f"{pallet}.{name} is final at the light node")
    return number


def test_polkadot_api_and_papi_read_follow_and_submit(
    engine: Engine, node_modules: Path, tmp_path: Path
) -> None:
    """Play the scripts of the development chain's tests: heads, storage, a remark until it is final."""
    (api := tmp_path / "api").mkdir()
    report = report_of("node", script_of("polkadot_api.mjs", node_modules, api), engine.node.ws_url)
    assert (report["specVersion"], report["statuses"][-1]) == (100, "Finalized")
    assert "system.ExtrinsicSuccess" in report["events"]
    if not (node_modules / "polkadot-api").exists():
        pytest.skip("polkadot-api is not among the Node.js peers: scripts/peers installs it")
    (papi := tmp_path / "papi").mkdir()
    report = report_of("node", script_of("papi.mjs", node_modules, papi), engine.node.ws_url, "legacy")
    assert (report["specVersion"], report["ok"], report["steps"][-1]) == (100, True, "finalized")


def test_chainflips_client_understands_what_the_release_has(
    engine: Engine, node_modules: Path, tmp_path: Path
) -> None:
    """Ask by @chainflip/rpc, over HTTP and WebSocket, through its own parsers."""
    if not (node_modules / "@chainflip/rpc").exists():
        pytest.skip("Chainflip's clients are not among the Node.js peers: scripts/peers installs them")
    (asked := tmp_path / "asked.json").write_text(json.dumps(ASKED))
    script = script_of("chainflip_rpc.mjs", node_modules, tmp_path)
    report = report_of("node", script, engine.node.url, "@chainflip/rpc", str(asked))
    verdicts = report["@chainflip/rpc"]
    for transport in ("http", "ws"):
        answered = {method: words for method, words in verdicts[transport].items() if words}
        assert answered == {method: [None] for method in ASKED}
