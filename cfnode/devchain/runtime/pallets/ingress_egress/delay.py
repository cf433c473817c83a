"""Delay between the witnessing of a deposit and its processing.

A deposit counts at once, or some blocks later if governance sets a delay: then it waits, and counts before
anything else that happens in its block.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.swap_requests.requests import LAST_BLOCK
from cfnode.devchain.runtime.pallets.system import System

from .pipeline import process_deposit
from .storage import IngressEgressStorage
from .vault_deposits import process_vault_deposit

__all__ = ["admit_deposit", "admit_vault_deposit", "process_delayed"]


def admit_deposit(pallet: IngressEgressStorage, witness: values.DepositWitness, height: int) -> None:
    """Process a deposit that has reached the safety margin at `height`, at once or after the delay."""
    if delay := pallet.IngressDelayBlocks.get():
        pending = pallet.PendingDepositChannelDeposits
        pending.mutate(_due(pallet, delay), lambda before: [*before, (witness, height)])
    else:
        process_deposit(pallet, witness, height)


def admit_vault_deposit(
    pallet: IngressEgressStorage, witness: values.VaultDepositWitness, height: int
) -> None:
    """Process a vault swap that is final, at once or after the delay."""
    if delay := pallet.IngressDelayBlocks.get():
        pending = pallet.PendingVaultDeposits
        pending.mutate(_due(pallet, delay), lambda before: [*before, (witness, height)])
    else:
        process_vault_deposit(pallet, witness, height)


def process_delayed(pallet: IngressEgressStorage, number: int) -> None:
    """Process the deposits that have waited for this block."""
    for witness, height in pallet.PendingDepositChannelDeposits.take(number):
        process_deposit(pallet, witness, height)
    for swap, height in pallet.PendingVaultDeposits.take(number):
        process_vault_deposit(pallet, swap, height)


def _due(pallet: IngressEgressStorage, delay: int) -> int:
    """Return the block in which a deposit that is witnessed now counts."""
    return min(int(pallet.other(System).Number.get()) + delay, LAST_BLOCK)
