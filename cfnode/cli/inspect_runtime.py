"""`cfnode inspect-runtime`: the runtime of a chain specification or of a running node."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from cfnode.cli import client
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.failures import explained_by_a_runtime
from cfnode.cli.options import json_option, node_option, only_one
from cfnode.cli.output import print_json, print_text
from cfnode.core.foreign import hex_bytes, whole_number
from cfnode.core.state import CODE

API_NAMES = (
    *("Core", "Metadata", "BlockBuilder", "TaggedTransactionQueue", "OffchainWorkerApi", "AuraApi"),
    *("SessionKeys", "GrandpaApi", "AccountNonceApi", "TransactionPaymentApi", "TransactionPaymentCallApi"),
    *("GenesisBuilder", "CustomRuntimeApi", "MonitoringRuntimeApi", "ElectoralRuntimeApi"),
)
"""Names of APIs that are tried: the id of an API is the BLAKE2b-64 of its name."""


@dataclass(frozen=True, slots=True)
class GrandpaAuthority:
    """A GRANDPA authority: its key in hex, and its weight."""

    grandpa: str
    weight: int


@dataclass(frozen=True, slots=True)
class RuntimeReport:
    """Properties of a runtime; hashes and keys as hex text."""

    spec_name: str
    spec_version: int
    impl_name: str
    impl_version: int
    transaction_version: int
    state_version: int
    apis: dict[str, int]
    code_hash: str
    code_size: int
    genesis_state_root: str
    genesis_hash: str
    aura_authorities: list[str]
    grandpa_authorities: list[GrandpaAuthority]
    grandpa_set_id: int


@click.command("inspect-runtime")
@click.option("--chain", envvar="CFNODE_CHAIN", metavar="FILE", help="Inspect a raw chain specification.")
@node_option(default=None, text="Inspect the runtime of a node's best block.")
@json_option
@verbatim_examples
def inspect_runtime(chain: str | None, url: str | None, as_json: bool) -> None:
    r"""Print version, APIs, code, genesis and authorities of a runtime.

    \b
      cfnode inspect-runtime --chain berghain.chainspec.raw.json
      cfnode inspect-runtime --node http://127.0.0.1:9944 --json
    """
    chain, url = only_one("chain", chain, "url", url)
    if chain is None and url is None:
        raise CommandFailure("no runtime is named: give --chain or --node", ExitCode.USAGE)
    with explained_by_a_runtime():
        report = _of_spec(Path(chain)) if chain is not None else _of_node(url or "")
    if as_json:
        print_json(_document(report))
    else:
        print_text(_as_text(report))


def _of_spec(path: Path) -> RuntimeReport:
    from cfnode.core.chainspec import ChainSpecError, RawGenesis, genesis_header
    from cfnode.core.hashing import blake2_256
    from cfnode.devchain.runtime_choice import runtime_for
    from cfnode.runtime.genesis_state import GenesisRuntime
    from cfnode.store.spec_file import read_spec

    spec = read_spec(path)
    if not isinstance(spec.genesis, RawGenesis):
        raise ChainSpecError(str(path), "genesis", "holds no state: a raw chain specification is needed")
    runtime = GenesisRuntime(spec.genesis, runtime_for)
    header = genesis_header(spec)
    return _report(
        runtime.version(),
        (_hex(blake2_256(runtime.code)), len(runtime.code)),
        (_hex(header.state_root), _hex(header.hash)),
        [runtime.call(function) for function in _AUTHORITIES],
    )


def _of_node(url: str) -> RuntimeReport:
    def ask(method: str, *params: Any) -> Any:
        return client.call(url, method, list(params))

    code_key = _hex(CODE)
    with client.reading(url):
        genesis_hash = ask("chain_getBlockHash", 0)
        return _report(
            hex_bytes(ask("state_call", "Core_version", "0x")),
            (
                _hex(hex_bytes(ask("state_getStorageHash", code_key))),
                whole_number(ask("state_getStorageSize", code_key)),
            ),
            (
                _hex(hex_bytes(ask("chain_getHeader", genesis_hash)["stateRoot"])),
                _hex(hex_bytes(genesis_hash)),
            ),
            [hex_bytes(ask("state_call", function, "0x")) for function in _AUTHORITIES],
        )


_AUTHORITIES = ("AuraApi_authorities", "GrandpaApi_grandpa_authorities", "GrandpaApi_current_set_id")


def _report(
    encoded_version: bytes, code: tuple[str, int], genesis: tuple[str, str], authorities: list[bytes]
) -> RuntimeReport:
    from cfnode.core.grandpa import read_authorities
    from cfnode.core.scale import ByteCursor
    from cfnode.node.chain.runtime_info import RuntimeVersion

    version = RuntimeVersion.decode(encoded_version)
    aura, voters, set_id = (ByteCursor(answer) for answer in authorities)
    return RuntimeReport(
        spec_name=version.spec_name,
        spec_version=version.spec_version,
        impl_name=version.impl_name,
        impl_version=version.impl_version,
        transaction_version=version.transaction_version,
        state_version=min(version.system_version, 1),
        apis=_named(version.apis),
        code_hash=code[0],
        code_size=code[1],
        genesis_state_root=genesis[0],
        genesis_hash=genesis[1],
        aura_authorities=[_hex(aura.take(32)) for _ in range(aura.count(32))],
        grandpa_authorities=[GrandpaAuthority(_hex(key), weight) for key, weight in read_authorities(voters)],
        grandpa_set_id=set_id.u64(),
    )


def _named(apis: tuple[tuple[bytes, int], ...]) -> dict[str, int]:
    """Return the versions of the APIs by name, or by id if the name is unknown."""
    from hashlib import blake2b

    names = {blake2b(name.encode(), digest_size=8).digest(): name for name in API_NAMES}
    return {names.get(api, _hex(api)): version for api, version in apis}


def _document(report: RuntimeReport) -> dict[str, Any]:
    """Return the members of a report by their names in JSON."""
    return {_camel_case(name): value for name, value in asdict(report).items()}


def _camel_case(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(map(str.capitalize, words))


def _as_text(report: RuntimeReport) -> str:
    rows = [
        ("specification", f"{report.spec_name} {report.spec_version}"),
        ("implementation", f"{report.impl_name} {report.impl_version}"),
        ("transaction version", str(report.transaction_version)),
        ("state version", str(report.state_version)),
        ("APIs", ", ".join(f"{name} {version}" for name, version in report.apis.items())),
        ("code", f"{report.code_hash}, {report.code_size:,} bytes"),
        ("genesis state root", report.genesis_state_root),
        ("genesis hash", report.genesis_hash),
        ("GRANDPA set", str(report.grandpa_set_id)),
        *(
            ("GRANDPA authority", f"{authority.grandpa}, weight {authority.weight}")
            for authority in report.grandpa_authorities
        ),
        *(("Aura authority", key) for key in report.aura_authorities),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"
