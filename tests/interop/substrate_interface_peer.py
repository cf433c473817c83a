"""Connects with substrate-interface to the node named on the command line and submits a remark; prints JSON.

Runs in an interpreter of its own, not the project's.
"""

import json
import sys

from substrateinterface import Keypair, SubstrateInterface

chain = SubstrateInterface(url=sys.argv[1], ss58_format=2112)
alice = Keypair.create_from_uri("//Alice", ss58_format=2112)
report = {"chain": chain.chain, "alice": alice.ss58_address, "genesis": chain.get_block_hash(0)}
report["providers"] = chain.query("System", "Account", [alice.ss58_address]).value["providers"]

heads = []


def on_head(head, update_nr, subscription_id):  # the library's own parameter names
    """Collect the number of a new head; end the subscription after three."""
    heads.append(head["header"]["number"])
    return heads if len(heads) == 3 else None


chain.subscribe_block_headers(on_head)
report["heads"] = heads

call = chain.compose_call("System", "remark_with_event", {"remark": "0x636621"})
extrinsic = chain.create_signed_extrinsic(call=call, keypair=alice, era={"period": 64})
receipt = chain.submit_extrinsic(extrinsic, wait_for_finalization=True)
report["success"] = receipt.is_success
report["finalized"] = receipt.finalized
report["events"] = [
    f"{event.value['module_id']}.{event.value['event_id']}" for event in receipt.triggered_events
]
print(json.dumps(report))
