"""`cfnode inspect-runtime` and `cfnode build-spec`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.core.chainspec import BERGHAIN, ChainSpec, genesis_hash, to_json
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_chain_spec
from tests.support.cli.servers import serving


def run(*arguments: str) -> Result:
    """Run the program in this process."""
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def spec() -> ChainSpec:
    """Return the specification of the development chain."""
    return dev_chain_spec(DevGenesis())


@pytest.fixture
def spec_file(spec: ChainSpec, tmp_path: Path) -> Path:
    """Return that specification in a file."""
    path = tmp_path / "spec.json"
    path.write_text(to_json(spec))
    return path


def test_the_first_runtime_of_a_specification_is_printed(spec: ChainSpec, spec_file: Path) -> None:
    """Print versions, APIs, authorities and genesis hash of a specification, as JSON and as text."""
    report = json.loads(run("inspect-runtime", "--chain", str(spec_file), "--json").stdout)
    assert report["specName"] == "chainflip-node"
    assert report["stateVersion"] == 1
    assert report["apis"]["Core"] >= 4 and report["apis"]["AuraApi"] == 1
    assert report["genesisHash"] == f"0x{genesis_hash(spec).hex()}"
    assert report["auraAuthorities"] == [f"0x{Keypair.from_suri('//Alice').public.hex()}"]
    assert report["grandpaAuthorities"][0]["weight"] == 1
    text = run("inspect-runtime", "--chain", str(spec_file)).stdout
    assert f"genesis hash         {report['genesisHash']}" in text


def test_a_node_is_asked_over_json_rpc(spec: ChainSpec, spec_file: Path) -> None:
    """Print by calls to a node what the specification's file gives."""
    expected = json.loads(run("inspect-runtime", "--chain", str(spec_file), "--json").stdout)
    from cfnode.core.chainspec import RawGenesis
    from cfnode.devchain.runtime_choice import runtime_for
    from cfnode.runtime.genesis_state import GenesisRuntime

    assert isinstance(spec.genesis, RawGenesis)
    runtime = GenesisRuntime(spec.genesis, runtime_for)

    def answer(request: dict[str, object]) -> bytes:
        params = request["params"]
        assert isinstance(params, list)
        result: object = {
            "chain_getBlockHash": lambda: expected["genesisHash"],
            "chain_getHeader": lambda: {"stateRoot": expected["genesisStateRoot"]},
            "state_getStorageHash": lambda: expected["codeHash"],
            "state_getStorageSize": lambda: expected["codeSize"],
            "state_call": lambda: f"0x{runtime.call(params[0]).hex()}",
        }[str(request["method"])]()
        return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()

    with serving(answer) as url:
        assert json.loads(run("inspect-runtime", "--url", url, "--json").stdout) == expected


def test_a_specification_gets_authorities_that_everybody_has(spec_file: Path, tmp_path: Path) -> None:
    """Write a specification whose authorities are Alice and Bob, and print each change and its genesis."""
    result = run("build-spec", "--chain", str(spec_file), "-o", str(tmp_path / "mine.json"))
    assert result.exit_code == 0
    assert "Aura.Authorities: 1 removed, 1 written" in result.stderr.splitlines()
    assert "NextForced" not in result.stderr
    report = json.loads(run("inspect-runtime", "--chain", str(tmp_path / "mine.json"), "--json").stdout)
    assert report["auraAuthorities"] == [
        f"0x{Keypair.from_suri(name).public.hex()}" for name in ("//Alice", "//Bob")
    ]
    assert f"genesis {report['genesisHash']}" in result.stderr
    printed = run("build-spec", "--chain", str(spec_file)).stdout
    assert printed == (tmp_path / "mine.json").read_text()


def test_an_unusable_source_is_an_error(spec_file: Path, tmp_path: Path) -> None:
    """Refuse a specification without a state, no source at all, and a file that cannot be written."""
    light = tmp_path / "light.json"
    light.write_text(to_json(BERGHAIN))
    for arguments, words, code in (
        (["inspect-runtime"], "give --chain or --node", 2),
        (["inspect-runtime", "--chain", str(light)], "holds no state", 3),
        (["inspect-runtime", "--chain", str(tmp_path / "none")], "cannot be read", 3),
        (["build-spec", "--chain", str(light)], "holds no state", 3),
        (["build-spec", "--chain", str(spec_file), "--dev-authorities", "no//phrase"], "authority 1", 2),
        (["build-spec", "--chain", str(spec_file), "-o", str(tmp_path / "no" / "x")], "cannot write", 1),
    ):
        result = run(*arguments)
        assert (result.exit_code, words in result.stderr) == (code, True), result.stderr


def test_the_official_specification(berghain_spec: Path) -> None:
    """Read the main net's own specification: version 100, three authorities, twelve known APIs."""
    report = json.loads(run("inspect-runtime", "--chain", str(berghain_spec), "--json").stdout)
    assert (report["specVersion"], report["stateVersion"]) == (100, 1)
    assert report["genesisHash"] == "0x8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"
    assert len(report["auraAuthorities"]) == len(report["grandpaAuthorities"]) == 3
    assert len(report["apis"]) == 12
    assert not [name for name in report["apis"] if name.startswith("0x")]
