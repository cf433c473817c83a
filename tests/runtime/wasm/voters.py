"""Change of the voters of a chain in the official runtime, whose one governor is //Alice."""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.scale.metadata import Metadata


def change_of_voters(
    metadata: Metadata, block: int, voters: Sequence[tuple[bytes, int]]
) -> tuple[str, object]:
    """Return the call that gives new GRANDPA voters, in set 1, from `block` on, as sessions write them.

    Governance reaches root in spec 100: what its member proposes runs as sudo in the next block.
    """
    pending, set_id = (
        metadata.storage("Grandpa", "PendingChange"),
        metadata.storage("Grandpa", "CurrentSetId"),
    )
    change = {"scheduled_at": block, "delay": 0, "next_authorities": list(voters), "forced": None}
    items = [(pending.key(), pending.value.encode(change)), (set_id.key(), set_id.value.encode(1))]
    sudo = {"call": ("System", ("set_storage", {"items": items}))}
    return "Governance", (
        "propose_governance_extrinsic",
        {"call": ("Governance", ("call_as_sudo", sudo)), "execution": "Automatic"},
    )
