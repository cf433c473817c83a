"""Registration of the accounts that `--dev-broker` and `--dev-lp` name, in the first block.

Each key is put into the keystore, and the first block that the author makes registers its account: the
inherent that funds the account comes before the transaction. A client that waits for block 1 finds a broker,
or a liquidity provider.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from cfnode.node.chain.chain import NodeChain
from cfnode.node.signing.key import BROKER_KEY, PROVIDER_KEY, SigningKeyKind
from cfnode.node.signing.submission import SubmittedCall
from cfnode.store.keystore import Keystore

__all__ = ["BROKER_ROLE", "PROVIDER_ROLE", "AccountRole", "Registration", "role_at", "store_key"]

log = logging.getLogger("cfnode.dev")


@dataclass(frozen=True, slots=True)
class AccountRole:
    """A role that an account can take: its name in the runtime, the call that registers it, and its key."""

    name: str
    call: SubmittedCall
    key: SigningKeyKind


BROKER_ROLE = AccountRole("Broker", SubmittedCall("Swapping", "register_as_broker"), BROKER_KEY)
PROVIDER_ROLE = AccountRole(
    "LiquidityProvider", SubmittedCall("LiquidityProvider", "register_lp_account"), PROVIDER_KEY
)
UNREGISTERED = (None, "Unregistered", "None")
"""Roles of an account that may take another one; None: the account has not been funded yet.

The last is the name in releases before 1.3.
"""
MAX_REGISTRATION_ATTEMPTS = 3
"""Blocks that try to register the account: after three failures a retry would fail too."""


def store_key(role: AccountRole, keystore: Keystore, suri: str) -> Keypair:
    """Return the key of a secret URI, and insert it into a keystore that has no key of this type.

    A keystore with another key is not changed: with two, a later start could not choose one.
    Raises SuriError or KeystoreError.
    """
    pair, role_key = Keypair.from_suri(suri), role.key
    stored_keys = keystore.keys(role_key.key_type)
    if not stored_keys:
        keystore.insert(role_key.key_type, suri)
    elif stored_keys != [pair.public]:
        log.info(
            "The keystore has another %s key, which stays; this run signs with that of %s",
            role_key.name,
            role_key.dev_flag,
        )
    return pair


async def role_at(chain: NodeChain, block: bytes, account: bytes) -> str | None:
    """Return the role of an account, None for an unknown account.

    Raises ScaleError if the runtime has no roles; UnknownBlock or StateDiscarded.
    """
    metadata = (await chain.runtime_at(block)).metadata
    storage_item = metadata.storage("AccountRoles", "AccountRoles")
    with chain.state(block) as state:
        stored = state.get(storage_item.key(account))
    return None if stored is None else str(storage_item.decode(stored))


class Registration:
    """The transaction that gives an account its role, for each block until the account has it."""

    def __init__(self, chain: NodeChain, key: Keypair, role: AccountRole) -> None:
        self._chain = chain
        self._key = key
        self._role = role
        self._attempts = 0
        self._has_given_up = False

    async def transactions(self, parent: bytes) -> list[bytes]:
        """Return the first transactions of a block on `parent`; none if the account has the role already."""
        if self._has_given_up:
            return []
        try:
            role = await role_at(self._chain, parent, self._key.account)
            if role == self._role.name:
                self._attempts = 0  # a revert to a snapshot may undo the registration
                return []
            if role in UNREGISTERED and self._attempts < MAX_REGISTRATION_ATTEMPTS:
                self._attempts += 1
                return [await self._signed(parent)]
            reason = (
                f"{self._attempts} blocks have rejected it" if role in UNREGISTERED else f"it is a {role}"
            )
        except ScaleError as error:
            reason = str(error)
        self._has_given_up = True
        flag, name = self._role.key.dev_flag, self._role.key.name
        log.warning("The account of %s cannot be registered as a %s: %s", flag, name, reason)
        return []

    async def _signed(self, parent: bytes) -> bytes:
        runtime = await self._chain.runtime_at(parent)
        return sign_extrinsic(
            runtime.metadata,
            runtime.metadata.call_codec.encode(self._role.call.value),
            self._key,
            nonce=await self._chain.queries.account_nonce(parent, self._key.account),
            era=IMMORTAL,
            era_hash=self._chain.genesis_hash,
            genesis_hash=self._chain.genesis_hash,
            spec_version=runtime.version.spec_version,
            transaction_version=runtime.version.transaction_version,
        )
