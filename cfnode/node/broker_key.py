"""Which key signs for the broker methods, and what should the operator do without one?

The only key of type `brok` in the keystore, as in the official node, or the key that a development chain was
started with. If the keystore has none or several, the reason is logged at the start. It is also the `data` of
the error that a broker method returns, without paths of this machine.
"""

from __future__ import annotations

import logging
import shlex
from dataclasses import dataclass

from cfnode.core.keys import Keypair
from cfnode.node.config import Config
from cfnode.store.keystore import BROKER, Keystore, MultipleKeysError

__all__ = ["BrokerKey", "find_broker_key"]

log = logging.getLogger("cfnode.service")

BUILT_IN = ("dev", "berghain")
"""Chains whose names clients may see; any other value of --chain is a path."""


@dataclass(frozen=True, slots=True)
class BrokerKey:
    """The key, or the reason why there is none and what to do."""

    pair: Keypair | None
    missing: str = ""


def find_broker_key(
    keystore: Keystore, config: Config, given: Keypair | None = None, advice: str = ""
) -> BrokerKey:
    """The given key, else the keystore's; logs which one, or what is missing. Raises KeystoreError.

    `advice`: how to get a key without the keystore, as "start the node with …".
    """
    for warning in keystore.warnings():
        log.warning("%s", warning)
    if given is not None:
        log.info("🗝️ Broker key given by --dev-broker, enabling Broker-related RPCs")
        return BrokerKey(given)
    try:
        pair = keystore.broker()
    except MultipleKeysError as error:
        log.warning("Broker-related RPCs are off: %s", error)
        count = len(keystore.keys(BROKER))
        return BrokerKey(None, f"this node has {count} broker keys: remove all but one and start it again")
    if pair is None:
        log.info("No broker key, Broker-related RPCs are off. %s", _advice(config, advice, with_paths=True))
        return BrokerKey(None, f"this node has no broker key. {_advice(config, advice, with_paths=False)}")
    log.info("🗝️ Broker key found in the keystore, enabling Broker-related RPCs")
    return BrokerKey(pair)


def _advice(config: Config, start: str, *, with_paths: bool) -> str:
    """How to insert a key; `with_paths`: with the paths that the node was started with."""
    if config.temporary and config.keystore_path is None:
        return f"To have one, {start or 'start the node without --tmp'}"
    chain = config.chain if with_paths or config.chain in BUILT_IN else "SPECIFICATION"
    places = (
        {"--keystore-path": config.keystore_path}
        if config.keystore_path
        else {"--base-path": config.base_path}
    )
    where = [str(word) for place in places.items() for word in place] if with_paths else []
    words = ["cfnode", "key", "insert", "--chain", chain, *where, "--suri-file", "FILE"]
    inserted = f"Insert one ({shlex.join(words)}) and start the node again"
    return f"{inserted}, or {start}" if start else inserted
