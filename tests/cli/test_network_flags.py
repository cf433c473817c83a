"""`cfnode run`: the flags about peers, and what is refused in words before anything starts."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import lifetime
from cfnode.cli.run import run
from cfnode.core.chainspec import ChainSpec
from cfnode.core.keys import Keypair
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.node.config import Config
from cfnode.node.networking import open_network

NODE = "/ip4/1.2.3.4/tcp/30333/p2p/12D3KooWPWqdeeWGjycVLiy6drp2P9ghozqbe9o57Fjvj39QFHaF"


class Started(NamedTuple):
    """Configuration of a node that would have run."""

    config: Config
    dev: DevConfig | None


NODE_KEY = Keypair.from_seed(bytes(32), "ed25519")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Started]:
    """Return the nodes that would have run."""
    nodes: list[Started] = []
    monkeypatch.setattr(
        lifetime, "run_until_stopped", lambda config, dev, ignored: nodes.append(Started(config, dev))
    )
    return nodes


def given(*flags: str) -> Result:
    """Run `run --tmp` with flags; the fixture keeps the node from starting."""
    return CliRunner().invoke(run, ["--tmp", *flags])


def test_an_operators_command_line_becomes_the_network(started: list[Started]) -> None:
    """Pass an operator's flags about peers on to the network, which announces the public address."""
    flags = (
        f"--reserved-nodes={NODE}",
        "--reserved-only",
        "--in-peers=5",
        "--out-peers=3",
        "--public-addr=/dns4/node.example/tcp/443/wss",
        "--listen-addr=/ip4/0.0.0.0/tcp/30333",
        "--listen-addr=/ip4/0.0.0.0/tcp/30334/ws",
        f"--node-key={'07' * 32}",
        "--no-mdns",
        "--kademlia-replication-factor=20",
        "--in-peers-light=7",
    )
    assert given(*flags).exit_code == 0
    network = started[0].config.network
    assert (network.reserved_nodes, network.reserved_only) == ((NODE,), True)
    assert (network.in_peers, network.in_peers_light, network.out_peers) == (5, 7, 3)
    assert network.public == ("/dns4/node.example/tcp/443/wss",)
    assert network.listen == ("/ip4/0.0.0.0/tcp/30333", "/ip4/0.0.0.0/tcp/30334/ws")
    assert network.node_key == bytes([7]) * 32
    service = open_network(started[0].config, dev_chain_spec(), NODE_KEY, bytes(32))
    assert service.reserved == {NODE.rpartition("/")[2]}
    assert [str(address) for address in service.addresses] == list(network.public), "not listening yet"


@pytest.mark.parametrize(
    ("flags", "chain_type", "dials"),
    [
        ((), "Live", False),
        ((), "Local", True),
        (("--allow-private-ip",), "Live", True),
        (("--no-private-ip",), "Development", False),
    ],
)
def test_private_addresses_of_strangers_are_dialed_as_in_substrate(
    started: list[Started], flags: tuple[str, ...], chain_type: str, dials: bool
) -> None:
    """Dial private addresses of unknown peers on local chains only, unless a flag says otherwise."""
    assert given(*flags).exit_code == 0
    spec = dev_chain_spec()
    spec = ChainSpec(**{**{name: getattr(spec, name) for name in spec.__slots__}, "chain_type": chain_type})
    service = open_network(started[0].config, spec, NODE_KEY, bytes(32))
    assert service._settings.private_addresses is dials


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        (
            "--bootnodes=/ip4/1.2.3.4/tcp/30333",
            "lacks the node's peer id: write it as in /ip4/1.2.3.4/tcp/30333/p2p/",
        ),
        ("--reserved-nodes=/dns/a.example/tcp/1/ws", "lacks the node's peer id"),
        ("--reserved-nodes=1.2.3.4", "an address begins with /"),
        ("--public-addr=/ip4/1.2.3/tcp/1", "malformed value '1.2.3' of /ip4"),
        ("--listen-addr=/ip4/0.0.0.0/tcp/70000", "malformed value '70000' of /tcp"),
    ],
)
def test_a_malformed_address_is_refused_with_the_reason(
    started: list[Started], flag: str, reason: str
) -> None:
    """Refuse an address with a malformed part or without a peer id, and say which part."""
    done = given(flag)
    assert done.exit_code == 2
    assert reason in done.output
    assert not started


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("now", "now"),
        ("1767225600000", 1_767_225_600_000),
        ("1767225600", 1_767_225_600_000),
        ("2026-01-01T01:00:00+01:00", 1_767_225_600_000),
    ],
)
def test_a_development_chain_may_begin_at_a_time_or_now(
    started: list[Started], value: str, expected: int | str
) -> None:
    """Take seconds, milliseconds, a date with a zone or `now` as the start of a development chain."""
    assert given("--dev", f"--dev-start-time={value}").exit_code == 0
    assert started[0].dev is not None and started[0].dev.start_time == expected


@pytest.mark.parametrize("value", ["yesterday", "-5", "1969-12-31", "10000-01-01", "9" * 30, ""])
def test_a_start_time_that_is_no_time_is_refused(started: list[Started], value: str) -> None:
    """Refuse a start before 1970, after 9999 or in words, and list what may be written."""
    refused = given("--dev", f"--dev-start-time={value}")
    assert refused.exit_code == 2 and not started
    assert "Invalid value for '--dev-start-time': " in refused.stderr
    assert refused.stderr.rstrip().endswith(", or `now`.")


@pytest.mark.parametrize(
    ("flags", "listen"),
    [
        (("--dev",), ["/ip4/127.0.0.1/tcp/30333", "/ip6/::1/tcp/30333"]),
        (("--dev", "--port=30333"), ["/ip4/0.0.0.0/tcp/30333", "/ip6/::/tcp/30333"]),
        (("--dev", "--port=0"), ["/ip4/0.0.0.0/tcp/0", "/ip6/::/tcp/0"]),
        (("--dev", "--listen-addr=/ip4/0.0.0.0/tcp/4"), ["/ip4/0.0.0.0/tcp/4"]),
        ((), ["/ip4/0.0.0.0/tcp/30333", "/ip6/::/tcp/30333"]),
        (("--port=4",), ["/ip4/0.0.0.0/tcp/4", "/ip6/::/tcp/4"]),
    ],
)
def test_a_development_chain_listens_for_peers_on_this_machine_unless_a_flag_names_a_port(
    started: list[Started], flags: tuple[str, ...], listen: list[str]
) -> None:
    """Listen on this machine alone with --dev, and on all interfaces once a flag names a port."""
    assert given(*flags).exit_code == 0
    service = open_network(started[0].config, dev_chain_spec(), NODE_KEY, bytes(32))
    assert [str(address) for address in service._settings.listen] == listen
