"""Flags of the official node, and what `cfnode run` does with each.

The official node is Chainflip's build of Substrate stable2509 (sc-cli 0.55, whose arguments clap reads); its
own flags are those of sc-cli, and `--sync` has the further value `light-rpc`. `FLAGS` is the one list: the
options of `cfnode run`, their other spellings, completion, the configuration file and
docs/reference/official-flags.md come from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = [
    "BY_NAME",
    "DATABASE",
    "EXCLUDING",
    "FLAGS",
    "LOGGING",
    "NODE_KEY",
    "PRUNING",
    "Flag",
    "Takes",
    "Treatment",
]


class Takes(Enum):
    """Number of values that a flag takes each time that it is given."""

    NOTHING = "none"
    OPTIONAL = "none or one"
    ONE = "one"
    SEVERAL = "one or more"


class Treatment(Enum):
    """Treatment of a flag by `cfnode run`."""

    SAME = "has the same effect"
    IGNORED = "accepted without effect, with one warning"
    DEVELOPMENT = "accepted with --dev, else refused"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag. `default` is the official one; `note` is a reason, or what differs here."""

    name: str
    takes: Takes = Takes.NOTHING
    treatment: Treatment = Treatment.SAME
    aliases: tuple[str, ...] = ()
    short: str | None = None
    values: tuple[str, ...] = ()
    in_any_case: bool = False
    default: str = ""
    missing: str = ""
    """The value of a flag that is given without its optional value."""
    is_repeated: bool = False
    """Whether the flag may be given several times, with one value each."""
    note: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """All names of the flag: the long one, hidden other long ones, the short one."""
        return (self.name, *self.aliases, *((self.short,) if self.short else ()))


_OF_ONE: Final = Takes.ONE
_FOLLOWS: Final = "cfnode follows the chain and serves it; it is not a validator"
_NO_PASSWORDS: Final = "passwords of key files are not supported; a secret URI may hold one (///password)"
_ONE_PORT: Final = (
    "cfnode has one JSON-RPC port: use --rpc-port, --rpc-external, --rpc-methods and the other --rpc- flags"
)
_KEYS: Final = "the keys of a development chain are those of --dev-authorities, such as //Alice,//Bob"
_EXECUTION_PARTS: Final = ("syncing", "import-block", "block-construction", "offchain-worker", "other")
_EXECUTION: Final = ("native", "wasm", "both", "native-else-wasm")
_NO_EFFECT: Final = "without effect in the official node, too"
_OTHERS: Final = "of other releases or other Substrate nodes"


def _same(name: str, takes: Takes = Takes.NOTHING, default: str = "", **attributes: object) -> Flag:
    return Flag(name, takes, default=default, **attributes)  # type: ignore[arg-type]


def _ignored(name: str, takes: Takes = Takes.NOTHING, default: str = "", **attributes: object) -> Flag:
    return Flag(name, takes, Treatment.IGNORED, default=default, **attributes)  # type: ignore[arg-type]


def _refused(name: str, note: str, takes: Takes = Takes.NOTHING) -> Flag:
    return Flag(name, takes, Treatment.REFUSED, note=note)


_CHAIN: Final = (
    _same("--chain", _OF_ONE, note="without it the official node has no chain; here it is `berghain`"),
    _same("--dev", note="the official node also implies --tmp and --rpc-cors=all"),
    _same("--base-path", _OF_ONE, short="-d"),
    _same("--tmp"),
    _same("--sync", _OF_ONE, "full", values=("light-rpc", "full", "warp", "fast", "fast-unsafe"),
          in_any_case=True, note="default here: light-rpc"),
    _same("--blocks-pruning", _OF_ONE, "archive-canonical", aliases=("--keep-blocks",),
          note="default here: 128"),
    _same("--state-pruning", _OF_ONE, "256", aliases=("--pruning",), note="default here: 128"),
    _same("--keystore-path", _OF_ONE),
    _same("--name", _OF_ONE, note="default here: cfnode"),
    _same("--pool-limit", _OF_ONE, "8192"),
    _same("--pool-kbytes", _OF_ONE, "20480"),
    _same("--max-runtime-instances", _OF_ONE, "8"),
)  # fmt: skip
_RPC: Final = (
    _same("--rpc-port", _OF_ONE, "9944"),
    _same("--rpc-external"),
    _same("--unsafe-rpc-external"),
    _same("--rpc-methods", _OF_ONE, "auto", values=("auto", "safe", "unsafe"), in_any_case=True),
    _same("--rpc-cors", _OF_ONE),
    _same("--rpc-max-request-size", _OF_ONE, "15"),
    _same("--rpc-max-response-size", _OF_ONE, "15"),
    _same("--rpc-max-connections", _OF_ONE, "100"),
    _same("--rpc-max-subscriptions-per-connection", _OF_ONE, "1024"),
    _same("--rpc-message-buffer-capacity-per-connection", _OF_ONE, "64"),
    _same("--rpc-max-batch-request-len", _OF_ONE, note="default here: 100"),
    _same("--rpc-disable-batch-requests", aliases=("--rpc_no_batch_requests",)),
    _same("--rpc-rate-limit", _OF_ONE),
    _same("--rpc-rate-limit-whitelisted-ips", Takes.SEVERAL),
    _same("--rpc-rate-limit-trust-proxy-headers"),
    _refused("--experimental-rpc-endpoint", _ONE_PORT, Takes.SEVERAL),
)
_LOG: Final = (
    _same("--prometheus-port", _OF_ONE, "9615"),
    _same("--prometheus-external"),
    _same("--no-prometheus"),
    _same("--log", Takes.SEVERAL, "info", short="-l"),
    _same("--disable-log-color"),
    _ignored("--detailed-log-output"),
    _ignored("--enable-log-reloading", note="`system_addLogFilter` always has an effect here"),
    _ignored("--tracing-targets", _OF_ONE),
    _ignored("--tracing-receiver", _OF_ONE, "log", values=("log",), in_any_case=True),
    _ignored("--no-telemetry"),
    _ignored("--telemetry-url", _OF_ONE, is_repeated=True),
)
_NETWORK: Final = (
    _same("--port", _OF_ONE, "30333"),
    _same("--listen-addr", Takes.SEVERAL),
    _same("--public-addr", Takes.SEVERAL),
    _same("--bootnodes", Takes.SEVERAL),
    _same("--reserved-nodes", Takes.SEVERAL),
    _same("--reserved-only"),
    _same("--in-peers", _OF_ONE, "32"),
    _same("--in-peers-light", _OF_ONE, "100"),
    _same("--out-peers", _OF_ONE, "8"),
    _same("--allow-private-ip", aliases=("--allow-private-ipv4",)),
    _same("--no-private-ip", aliases=("--no-private-ipv4",)),
    _same("--node-key", _OF_ONE),
    _same("--node-key-file", _OF_ONE),
    _ignored("--node-key-type", _OF_ONE, "ed25519", values=("ed25519",), in_any_case=True),
    _ignored("--unsafe-force-node-key-generation", note="a missing key is always generated here"),
    _ignored("--no-mdns", note="there is no mDNS here"),
    _ignored("--discover-local"),
    _ignored("--max-parallel-downloads", _OF_ONE, "5"),
    _ignored("--max-blocks-per-request", _OF_ONE, "64"),
    _ignored("--kademlia-disjoint-query-paths"),
    _ignored("--kademlia-replication-factor", _OF_ONE, "20"),
    _ignored("--ipfs-server"),
    _ignored("--network-backend", _OF_ONE, values=("libp2p", "litep2p"), in_any_case=True),
)
_STORE: Final = (
    _ignored("--database", _OF_ONE, aliases=("--db",), in_any_case=True,
             values=("rocksdb", "paritydb", "auto", "paritydb-experimental")),
    _ignored("--db-cache", _OF_ONE),
    _ignored("--trie-cache-size", _OF_ONE, "1073741824"),
    _ignored("--warm-up-trie-cache", Takes.OPTIONAL, values=("non-blocking", "blocking"),
             missing="non-blocking"),
    _ignored("--tx-ban-seconds", _OF_ONE, "1800"),
    _ignored("--pool-type", _OF_ONE, "fork-aware", values=("single-state", "fork-aware")),
)  # fmt: skip
_RUNTIME: Final = (
    _ignored("--runtime-cache-size", _OF_ONE, "2"),
    _ignored("--wasm-execution", _OF_ONE, "compiled", in_any_case=True,
             values=("interpreted-i-know-what-i-do", "compiled")),
    _ignored("--wasmtime-instantiation-strategy", _OF_ONE, "pooling-copy-on-write",
             values=("pooling-copy-on-write", "recreate-instance-copy-on-write", "pooling",
                     "recreate-instance")),
    _ignored("--wasm-runtime-overrides", _OF_ONE),
    *(
        _ignored(name, _OF_ONE, values=_EXECUTION, in_any_case=True, note=_NO_EFFECT)
        for name in ("--execution", *(f"--execution-{part}" for part in _EXECUTION_PARTS))
    ),
    _ignored("--offchain-worker", _OF_ONE, "when-authority", in_any_case=True,
             values=("always", "never", "when-authority")),
    _ignored("--enable-offchain-indexing", _OF_ONE, "false", values=("true", "false")),
)  # fmt: skip
_AUTHORITY: Final = (
    # With --dev the node authors anyway; --alice also names it.
    Flag("--validator", treatment=Treatment.DEVELOPMENT, note=_FOLLOWS),
    Flag("--alice", treatment=Treatment.DEVELOPMENT, note=_FOLLOWS),
    *(_refused(f"--{name}", _KEYS) for name in ("bob", "charlie", "dave", "eve", "ferdie", "one", "two")),
    _ignored("--force-authoring"),
    _ignored("--no-grandpa"),
    _refused("--password", _NO_PASSWORDS, _OF_ONE),
    _refused("--password-filename", _NO_PASSWORDS, _OF_ONE),
    _refused("--password-interactive", _NO_PASSWORDS),
)
_OTHER: Final = (
    _ignored("--wasmtime-precompiled", _OF_ONE, note=_OTHERS),
    _ignored("--no-hardware-benchmarks", note=_OTHERS),
    _ignored("--disable-hardware-benchmarks", note=_OTHERS),
    _ignored("--enable-evm-rpc", note=_OTHERS),
)

FLAGS: Final = (*_CHAIN, *_RPC, *_LOG, *_NETWORK, *_STORE, *_RUNTIME, *_AUTHORITY, *_OTHER)
"""All flags, by what they are about."""
LOGGING: Final = (
    "--log",
    "--detailed-log-output",
    "--disable-log-color",
    "--enable-log-reloading",
    "--tracing-targets",
    "--tracing-receiver",
)
"""Flags of the log that subcommands of the official node have, too."""
DATABASE: Final = ("--database", "--db-cache")
"""Flags of the database that subcommands of the official node have, too."""
PRUNING: Final = ("--state-pruning", "--blocks-pruning")
"""Flags of what is kept that subcommands of the official node have, too."""
NODE_KEY: Final = (
    "--node-key",
    "--node-key-type",
    "--node-key-file",
    "--unsafe-force-node-key-generation",
)
"""Flags of the node's key that subcommands of the official node have, too."""
BY_NAME: Final = {flag.name: flag for flag in FLAGS}
EXCLUDING: Final = (
    ("--port", "--listen-addr"),
    ("--allow-private-ip", "--no-private-ip"),
    ("--rpc-disable-batch-requests", "--rpc-max-batch-request-len"),
    *(("--execution", f"--execution-{part}") for part in _EXECUTION_PARTS),
)
"""Flags that exclude each other on a command line; for `--tmp` and `--base-path` see `run.check_together`."""
