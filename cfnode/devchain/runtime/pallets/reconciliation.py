"""Reconciliation: payment of what transactions on the foreign chains have cost.

It happens at the start of each epoch, from the fees that were withheld for it. On EVM chains and Tron each
account that has paid for transactions gets all that it is owed, less the fee of the transfer; or nothing, as
long as the withheld fees do not suffice or the transfer costs too much. On Bitcoin and Solana the vault has
paid (pallet_cf_asset_balances: trigger_reconciliation). The largest debt of a chain comes first.

On Polkadot and Assethub the aggregate key pays. A development chain sends nothing there, so nothing is owed.
"""

from __future__ import annotations

from cfnode.core.addresses import Script
from cfnode.core.assets import gas_asset
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame.errors import DispatchError

from .asset_balances import AssetBalances
from .environment_storage import EnvironmentStorage
from .ingress_egress.egress import schedule_egress
from .ingress_egress.storage import INGRESS_EGRESS

__all__ = ["reconcile"]

Debt = tuple[values.ExternalOwner, int]
"""A creditor, and what it is owed."""


def reconcile(pallet: AssetBalances) -> None:
    """Pay back what can be paid back on each chain."""
    if not pallet.other(EnvironmentStorage).safe_mode("asset_balances", "reconciliation_enabled"):
        return
    for chain in pallet.runtime.release.chains:
        _reconcile(pallet, chain, gas_asset(chain).name)


def _reconcile(pallet: AssetBalances, chain: str, asset: str) -> None:
    withheld, debts = pallet.WithheldAssets.get(asset), list(pallet.Liabilities.get(asset))
    if not debts:
        return
    remaining_debts = list[Debt]()
    for owner, owed in sorted(debts, key=lambda debt: -debt[1]):
        paid = _pay(pallet, chain, owner, owed, withheld)
        withheld -= paid
        if owed > paid:
            remaining_debts.append((owner, owed - paid))
    # As on the main net, what the transfers themselves withhold meanwhile is not counted.
    pallet.WithheldAssets.put(asset, withheld)
    _keep(pallet, chain, asset, remaining_debts, withheld)


def _keep(pallet: AssetBalances, chain: str, asset: str, left: list[Debt], withheld: int) -> None:
    if not left:
        pallet.Liabilities.remove(asset)
        return
    owed = sum(amount for _, amount in left)
    pallet.deposit(pallet.Event.VaultDeficitDetected, chain=chain, amount_owed=owed, available=withheld)
    pallet.Liabilities.put(asset, left)


def _pay(pallet: AssetBalances, chain: str, owner: values.ExternalOwner, owed: int, withheld: int) -> int:
    """Pay a debt, and return what was paid.

    A vault gets what there is, an account all that it is owed or nothing.
    """
    if owner == "Vault":
        return min(owed, withheld)
    if owed > withheld:
        return 0
    assert isinstance(owner, values.ExternalOwnerAccount)  # no key of the chain pays for transactions
    address = owner.value
    pallet.runtime.host.begin()
    try:
        egress_id = _transfer(pallet, chain, address[1], owed)
    except DispatchError as error:
        pallet.runtime.host.rollback()
        pallet.deposit(pallet.Event.RefundSkipped, reason=error.value, chain=chain, address=address)
        return 0
    pallet.runtime.host.commit()
    pallet.deposit(pallet.Event.RefundScheduled, egress_id=egress_id, destination=address, amount=owed)
    return owed


def _transfer(pallet: AssetBalances, chain: str, account: bytes | Script, amount: int) -> tuple[str, int]:
    """Queue a transfer, and return its id.

    Fails with RefundAmountTooLow where the fee is too large a part of the amount.
    """
    egress = schedule_egress(pallet.other(INGRESS_EGRESS[chain]), gas_asset(chain).name, amount, account)
    minimum = pallet.refund_multiple(chain) * egress.fee
    pallet.ensure(egress.amount >= minimum, pallet.Error.RefundAmountTooLow)
    return egress.egress_id
