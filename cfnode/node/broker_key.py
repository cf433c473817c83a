"""Which key signs for the broker methods, and what does an operator do where there is none?

The keystore's one key of type `brok`, as in the official node, or the key that a development chain was
started with. Where it has none or several, the reason is logged at the start, and is the `data` of the error
that a broker method gets, where it names no path of this machine.
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
"""Chains that are named to clients as the node was started with them; others are paths."""


@dataclass(frozen=True, slots=True)
class BrokerKey:
    """The key, or the reason why there is none and what to do."""

    pair: Keypair | None
    missing: str = ""


def find_broker_key(
    keystore: Keystore, config: Config, given: Keypair | None = None, advice: str = ""
) -> BrokerKey:
    """The key that is given, else the keystore's; logs which, or what is missing. Raises KeystoreError.

    `advice`: another way to a key than the keystore, as "start the node with …".
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
    """How to insert a key; `with_paths`: with the places that the node was started with."""
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
