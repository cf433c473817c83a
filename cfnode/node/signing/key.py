"""The key that signs for a group of methods, and advice to the operator if there is none.

It is the only key of the group's type in the keystore, as in the official node (`brok` signs for `broker_*`,
`lqpr` for `lp_*`), or the key that a development chain was started with. If the keystore has none or several,
the reason is logged at the start. It is also the `data` of the error that such a method returns, without
paths of this machine.
"""

from __future__ import annotations

import logging
import shlex
from dataclasses import dataclass

from cfnode.core.keys import Keypair
from cfnode.node.config import Config
from cfnode.store.keystore import BROKER, PROVIDER, SIGNERS, Keystore, MultipleKeysError

__all__ = [
    "BROKER_KEY",
    "NOT_GIVEN",
    "PROVIDER_KEY",
    "GivenKey",
    "SigningKey",
    "SigningKeyKind",
    "find_signing_key",
]

log = logging.getLogger("cfnode.service")

BUILT_IN = ("dev", "berghain")
"""Chains whose names clients may see; any other value of --chain is a path."""


@dataclass(frozen=True, slots=True)
class SigningKeyKind:
    """A key type that signs for methods: its title in log lines, and the flag that gives such a key."""

    key_type: str
    title: str
    dev_flag: str

    @property
    def name(self) -> str:
        """The keystore's name for a holder of the key, as "broker"."""
        return SIGNERS[self.key_type]


BROKER_KEY = SigningKeyKind(BROKER, "Broker", "--dev-broker")
PROVIDER_KEY = SigningKeyKind(PROVIDER, "LP", "--dev-lp")


@dataclass(frozen=True, slots=True)
class GivenKey:
    """A key that replaces the keystore's, and advice on getting one otherwise: "start the node …"."""

    pair: Keypair | None = None
    advice: str = ""


NOT_GIVEN = GivenKey()


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The key, or the reason why there is none and what to do."""

    pair: Keypair | None
    missing: str = ""


def find_signing_key(
    kind: SigningKeyKind, keystore: Keystore, config: Config, given: GivenKey = NOT_GIVEN
) -> SigningKey:
    """Return the given key, or else the keystore's. Raise KeystoreError.

    It logs which key is used, or what is missing.
    """
    title, name = kind.title, kind.name
    if given.pair is not None:
        log.info("🗝️ %s key given by %s, enabling %s-related RPCs", title, kind.dev_flag, title)
        return SigningKey(given.pair)
    try:
        pair = keystore.signer(kind.key_type)
    except MultipleKeysError as error:
        log.warning("%s-related RPCs are off: %s", title, error)
        count = len(keystore.keys(kind.key_type))
        return SigningKey(None, f"this node has {count} {name} keys: remove all but one and start it again")
    if pair is None:
        logged_advice, returned_advice = (
            _advice(kind, config, given.advice, with_paths=paths) for paths in (True, False)
        )
        log.info("No %s key, %s-related RPCs are off. %s", name, title, logged_advice)
        return SigningKey(None, f"this node has no {name} key. {returned_advice}")
    log.info("🗝️ %s key found in the keystore, enabling %s-related RPCs", title, title)
    return SigningKey(pair)


def _advice(kind: SigningKeyKind, config: Config, start: str, *, with_paths: bool) -> str:
    """Return how to insert a key. `with_paths`: with the paths that the node was started with."""
    if config.temporary and config.keystore_path is None:
        return f"To have one, {start or 'start the node without --tmp'}"
    chain = config.chain if with_paths or config.chain in BUILT_IN else "SPECIFICATION"
    places = (
        {"--keystore-path": config.keystore_path}
        if config.keystore_path
        else {"--base-path": config.base_path}
    )
    options = [str(word) for option in places.items() for word in option] if with_paths else []
    typed = [] if kind.key_type == BROKER else ["--key-type", kind.key_type]
    words = ["cfnode", "key", "insert", "--chain", chain, *options, *typed, "--suri-file", "FILE"]
    inserted = f"Insert one ({shlex.join(words)}) and start the node again"
    return f"{inserted}, or {start}" if start else inserted
