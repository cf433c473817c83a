"""Can the address of an expired channel serve another one?"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import ChainInstance

__all__ = ["State", "recycled_state"]

State = values.DeploymentStatus | values.DepositAddress | tuple[()] | int
"""What a channel remembers about its address, by the kind of its chain."""


def recycled_state(chain: ChainInstance, state: State) -> State | None:
    """The state in which the channel waits for its next owner, or None if it is gone for good.

    A deployed contract can take deposits again, one that was never deployed was never paid to; one that was
    being deployed counts as deployed since ever. Accounts of Substrate chains always serve again, Bitcoin
    outputs and Solana accounts never.
    """
    if chain.family.signer == "EvmThresholdSigner":
        if state == "Undeployed":
            return None
        return values.DeploymentStatusDeployed(0) if state == "Pending" else state
    return state if chain.family.signer == "PolkadotThresholdSigner" else None
