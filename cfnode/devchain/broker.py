"""How does a development chain get the broker that `--dev-broker` names?

Its key is put into the keystore, and the first block that the author makes registers its account: the
inherent that funds the account comes before the transaction. A client that waits for block 1 finds a broker.
"""

from __future__ import annotations

import logging

from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from cfnode.node.chain import Chain
from cfnode.node.submission import Call
from cfnode.store.keystore import BROKER, Keystore

__all__ = ["ROLE", "BrokerRegistration", "role_at", "store_broker_key"]

log = logging.getLogger("cfnode.dev")

ROLE = "Broker"
UNREGISTERED = (None, "Unregistered")
"""Roles of an account that may become a broker; None: the account has not been funded yet."""
MAX_ATTEMPTS = 3
"""Blocks that try to register the account: after three failures a retry would fail too."""


def store_broker_key(keystore: Keystore, suri: str) -> Keypair:
    """The key of a secret URI. It is inserted into a keystore that has no broker key.

    A keystore with another broker key is not changed: with two, a later start could not choose one.
    Raises SuriError or KeystoreError.
    """
    pair = Keypair.from_suri(suri)
    present = keystore.keys(BROKER)
    if not present:
        keystore.insert(BROKER, suri)
    elif present != [pair.public]:
        log.info("The keystore has another broker key, which stays; this run signs with that of --dev-broker")
    return pair


async def role_at(chain: Chain, block: bytes, account: bytes) -> str | None:
    """The role of an account, None for an unknown account.

    Raises ScaleError if the runtime has no roles; UnknownBlock or StateDiscarded.
    """
    metadata = (await chain.runtime_at(block)).metadata
    item = metadata.storage("AccountRoles", "AccountRoles")
    with chain.state(block) as state:
        stored = state.get(item.key(account))
    return None if stored is None else str(item.decode(stored))


class BrokerRegistration:
    """The transaction that makes an account a broker, for each block until the account is one."""

    def __init__(self, chain: Chain, key: Keypair) -> None:
        self._chain = chain
        self._key = key
        self._attempts = 0
        self._has_given_up = False

    async def transactions(self, parent: bytes) -> list[bytes]:
        """The first transactions of a block on `parent`; none if the account is a broker already."""
        if self._has_given_up:
            return []
        try:
            role = await role_at(self._chain, parent, self._key.account)
            if role == ROLE:
                self._attempts = 0  # a snapshot may lead back to before it
                return []
            if role in UNREGISTERED and self._attempts < MAX_ATTEMPTS:
                self._attempts += 1
                return [await self._signed(parent)]
            reason = (
                f"{self._attempts} blocks have rejected it" if role in UNREGISTERED else f"it is a {role}"
            )
        except ScaleError as error:
            reason = str(error)
        self._has_given_up = True
        log.warning("The account of --dev-broker cannot be registered as a broker: %s", reason)
        return []

    async def _signed(self, parent: bytes) -> bytes:
        runtime = await self._chain.runtime_at(parent)
        return sign_extrinsic(
            runtime.metadata,
            runtime.metadata.call_codec.encode(Call("Swapping", "register_as_broker").value),
            self._key,
            nonce=await self._chain.queries.account_nonce(parent, self._key.account),
            era=IMMORTAL,
            era_hash=self._chain.genesis_hash,
            genesis_hash=self._chain.genesis_hash,
            spec_version=runtime.version.spec_version,
            transaction_version=runtime.version.transaction_version,
        )
