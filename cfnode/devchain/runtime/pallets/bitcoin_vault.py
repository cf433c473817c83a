"""Coin selection and consolidation of the Bitcoin vault's unspent outputs.

Environment keeps the unspent outputs. A batch takes the smallest that are worth more than what spending them
costs, one after the other, until they pay for its outputs and fees, and one more where it may, so that small
ones do not pile up; what is left comes back as change. When there are too many, some are joined. After a
rotation those of the old key are joined into one of the new key; those of older keys cannot be spent any more
and are given up. (chainflip's `btc::utxo_selection`: select_utxos_from_pool, select_utxos_for_consolidation.)

The identifier of a transaction does not depend on its signatures, so change is known when the transaction is
built. On the main net it may be spent as soon as it is signed, here in the next block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfnode.core.addresses import taproot
from cfnode.core.addresses.bitcoin import Script, script_bytes
from cfnode.core.hashing import blake2_256, sha2_256
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains.bitcoin import (
    DEPOSIT_BYTES,
    FIXED_BYTES,
    OUTPUT_BYTES,
    VAULT_BYTES,
    BitcoinCosts,
)
from cfnode.devchain.runtime.frame import PalletStorage

from .chain_tracking import CHAIN_TRACKING
from .environment_storage import EnvironmentStorage
from .signers import BitcoinThresholdSigner

__all__ = ["DUST", "VaultTransaction", "add_outputs", "conjure", "consolidate", "spend"]

DUST = 600
"""Satoshi below which an output would keep its transaction out of a block."""
CHANGE_SALT = 0
VERSION, SEQUENCE, LOCK_TIME = 2, 2**32 - 3, 0
Output = tuple[Script, int]
Utxo = values.Utxo


@dataclass(frozen=True, slots=True)
class VaultFees:
    """Satoshi for a transaction's fixed part, its inputs (a deposit's, or the vault's own) and outputs."""

    fixed: int
    deposit: int
    vault: int
    output: int

    def net(self, utxo: Utxo) -> int:
        """Return what an output is worth after the fee for spending it, in satoshi; at least 0."""
        is_own_address = utxo.deposit_address.script_path is None
        return max(0, utxo.amount - (self.vault if is_own_address else self.deposit))


@dataclass(frozen=True, slots=True)
class VaultTransaction:
    """An unsigned transaction."""

    inputs: Sequence[Utxo]
    outputs: Sequence[Output]

    @property
    def id(self) -> bytes:
        """The double SHA-256 of all but the witnesses, as transactions name each other."""
        inputs = b"".join(utxo.id.tx_id + _u32(utxo.id.vout) + b"\0" + _u32(SEQUENCE) for utxo in self.inputs)
        outputs = b"".join(
            amount.to_bytes(8, "little") + _varint(len(code)) + code
            for code, amount in ((script_bytes(script), amount) for script, amount in self.outputs)
        )
        body = _varint(len(self.inputs)) + inputs + _varint(len(self.outputs)) + outputs
        return sha2_256(sha2_256(_u32(VERSION) + body + _u32(LOCK_TIME)))


def spend(pallet: PalletStorage, transfers: Sequence[Output]) -> VaultTransaction | None:
    """Spend outputs on these transfers. Return None if the vault has too little."""
    fees, environment = _fees(pallet), pallet.other(EnvironmentStorage)
    amount = sum(output_amount for _, output_amount in transfers)
    cost = fees.fixed + (len(transfers) + 1) * fees.output  # one output more for the change
    limit = environment.ConsolidationParameters.get().consolidation_threshold
    utxos = sorted(_spendable(pallet), key=fees.net)
    selection = _chosen([fees.net(utxo) for utxo in utxos], amount + cost, limit)
    if selection is None:
        return None
    inputs = utxos[selection]
    del utxos[selection]
    environment.BitcoinAvailableUtxos.put(utxos)
    change_amount = sum(map(fees.net, inputs)) - amount - cost
    change_outputs = [(_own(pallet).script, change_amount)] if change_amount >= DUST else []
    return VaultTransaction(inputs, [*transfers, *change_outputs])


def consolidate(pallet: PalletStorage) -> VaultTransaction | None:
    """Join outputs of the vault into one. Return None if there are none to join."""
    fees, environment = _fees(pallet), pallet.other(EnvironmentStorage)
    utxos = _spendable(pallet) if _key(pallet) else []
    joined = _to_be_joined(pallet, [utxo for utxo in utxos if fees.net(utxo)])
    if not joined:
        return None
    joined_amount = sum(utxo.amount - fees.deposit for utxo in joined) - fees.fixed - fees.output
    remaining_utxos = [utxo for utxo in utxos if utxo not in joined]
    dust = [utxo for utxo in remaining_utxos if not fees.net(utxo)]
    environment.BitcoinAvailableUtxos.put([*(utxo for utxo in remaining_utxos if utxo not in dust), *dust])
    return VaultTransaction(joined, [(_own(pallet).script, joined_amount)]) if joined_amount >= 0 else None


def _to_be_joined(pallet: PalletStorage, worth: Sequence[Utxo]) -> Sequence[Utxo]:
    """Return the outputs to join: the first of too many, or else those of the previous key."""
    limits = pallet.other(EnvironmentStorage).ConsolidationParameters.get()
    if len(worth) < limits.consolidation_threshold:
        key = _key(pallet)
        previous_key = None if key is None else key.previous
        worth = [utxo for utxo in worth if utxo.deposit_address.pubkey_x == previous_key]
    return worth[: limits.consolidation_size]


def _spendable(pallet: PalletStorage) -> list[Utxo]:
    """Return the outputs of the current and the previous key; discard those of older keys."""
    environment, key = pallet.other(EnvironmentStorage), _key(pallet)
    utxos: list[Utxo] = list(environment.BitcoinAvailableUtxos.get())
    if key is None or key.previous is None:
        return utxos
    keys = (key.previous, key.current)
    stale = [utxo for utxo in utxos if utxo.deposit_address.pubkey_x not in keys]
    if stale:
        utxos = [utxo for utxo in utxos if utxo not in stale]
        environment.BitcoinAvailableUtxos.put(utxos)
        environment.deposit(environment.Event.StaleUtxosDiscarded, utxos=stale)
    return utxos


def add_outputs(pallet: PalletStorage, transaction: VaultTransaction) -> None:
    """Add the outputs that a transaction pays to the vault's own key to the spendable ones."""
    own_output, tx_id = _own(pallet), transaction.id
    state = values.DepositAddress(pubkey_x=own_output.public_key_x, script_path=None)
    for vout, (script, amount) in enumerate(transaction.outputs):
        if script == own_output.script:
            output = values.UtxoId(tx_id=tx_id, vout=vout)
            _add(pallet, Utxo(id=output, amount=amount, deposit_address=state))


def conjure(pallet: PalletStorage, amount: int) -> None:
    """Add a made-up output to a vault that holds fewer than `amount` satoshi.

    The vault then holds at least as much Bitcoin as the pool that a test fills.
    """
    environment = pallet.other(EnvironmentStorage)
    utxos = environment.BitcoinAvailableUtxos.get()
    missing = amount - sum(utxo.amount for utxo in utxos)
    if 0 < missing < 2**64 and pallet.other(BitcoinThresholdSigner).active_key() is not None:
        output = values.UtxoId(tx_id=blake2_256(b"cfnode-dev/bitcoin" + _u32(len(utxos))), vout=0)
        state = values.DepositAddress(pubkey_x=_own(pallet).public_key_x, script_path=None)
        _add(pallet, Utxo(id=output, amount=missing, deposit_address=state))


def _chosen(worth: Sequence[int], needed: int, limit: int) -> slice | None:
    """Return the slice of at most `limit` outputs, sorted by worth, that comes to `needed`; or None."""
    first = next((position for position, net_amount in enumerate(worth) if net_amount > 0), None)
    if first is None:
        return None
    total = 0
    for last in range(first, len(worth)):
        total += worth[last]
        if last - first >= limit:
            total -= worth[first]
            first += 1
        if total >= needed:
            one_more = last < len(worth) - 1 and last - first + 1 < limit
            return slice(first, last + 1 + one_more)
    return None


def _fees(pallet: PalletStorage) -> VaultFees:
    tracked = pallet.other(CHAIN_TRACKING["Bitcoin"]).tracked_data()
    sizes = (FIXED_BYTES, DEPOSIT_BYTES, VAULT_BYTES, OUTPUT_BYTES)
    return VaultFees(*(BitcoinCosts.of(tracked, size) for size in sizes))


def _own(pallet: PalletStorage) -> taproot.TaprootDeposit:
    """Return the output that pays to the vault's own key."""
    key = _key(pallet)
    assert key is not None
    return taproot.deposit(key.current, CHANGE_SALT)


def _key(pallet: PalletStorage) -> values.BtcAggKey | None:
    """Return the vault's key with the previous one, both x-only; None without a key."""
    return pallet.other(BitcoinThresholdSigner).active_key()


def _add(pallet: PalletStorage, utxo: Utxo) -> None:
    pallet.other(EnvironmentStorage).BitcoinAvailableUtxos.mutate(lambda known: [*known, utxo])


def _u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _varint(number: int) -> bytes:
    """Encode a number as Bitcoin's CompactSize."""
    if number < 0xFD:
        return bytes([number])
    return b"\xfd" + number.to_bytes(2, "little") if number < 2**16 else b"\xfe" + _u32(number)
