"""Events that the chain emits for each happening: their names, in the order in which they come.

Each function is one thing that happens in a block; a scenario lists, block after block, what happened. The
order inside of a block is that of the runtime's hooks: extrinsics first, then what was seen of other chains,
then swaps, then what leaves.
"""

from __future__ import annotations

from collections.abc import Iterable

EVM = ("Ethereum", "Arbitrum", "Tron")
SIGNING = "EvmThresholdSigner.ThresholdSignatureRequest"
PAID = "TransactionPayment.TransactionFeePaid"
REQUESTED = ["Swapping.SwapRequested", "Swapping.SwapScheduled"]
DONE = "Swapping.SwapRequestCompleted"
SENT = ["Swapping.SwapEgressScheduled", DONE]
WITHDRAWN = ["AssetBalances.AccountDebited", *REQUESTED, "Swapping.WithdrawalRequested", PAID]
"""In USDC, whose fee is swapped into ether."""
DEFICIT = "AssetBalances.VaultDeficitDetected"
"""An epoch begins, and the chain does not have what its authorities have paid for transactions."""
EPOCH = ["Validator.NewEpoch", "Session.NewSession", "Grandpa.NewAuthorities"]
QUIET: list[str] = []


def together(*parts: Iterable[str] | str) -> list[str]:
    """Return things that happen in one block."""
    return [name for part in parts for name in ([part] if isinstance(part, str) else part)]


def deposited(chain: str) -> list[str]:
    """Return the events of a final deposit on a channel: fetched, and requested to be swapped."""
    pallet = f"{chain}IngressEgress"
    return [f"{pallet}.DepositFetchesScheduled", *REQUESTED, f"{pallet}.DepositFinalised"]


def batched(chain: str, what: str = "BatchBroadcastRequested") -> list[str]:
    """Return the events of a new transaction to a chain; on the EVM chains it has to be signed."""
    request = f"{chain}IngressEgress.{what}"
    return [SIGNING, request] if chain in EVM else [request]


def signed(chain: str, then: str = "TransactionBroadcastRequest") -> list[str]:
    """Return the events of a signed call: an authority is asked to send the transaction."""
    signer = "EvmThresholdSigner"
    return [
        f"{signer}.ThresholdSignatureSuccess",
        f"{chain}Broadcaster.{then}",
        f"{signer}.ThresholdDispatchComplete",
    ]


def landed(chain: str) -> list[str]:
    """Return the events of a transaction on its chain; its sender is owed the gas, where that is known."""
    success = f"{chain}Broadcaster.BroadcastSuccess"
    return [f"{chain}Broadcaster.TransactionFeeDeficitRecorded", success] if chain in EVM else [success]


def swapped(*, legs: int = 2, shares: int = 1) -> list[str]:
    """Return the events of a swap through the pools; so many accounts get a share of it."""
    pool, share = "LiquidityPools.AssetSwapped", "AssetBalances.AccountCredited"
    return [pool, *[share] * shares, *[pool] * (legs - 1), "Swapping.SwapExecuted"]
