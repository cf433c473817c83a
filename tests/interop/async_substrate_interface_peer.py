"""Connects with async-substrate-interface to the node named on the command line, submits a remark.

Prints JSON. Runs in an interpreter of its own. The library has no keys, so Alice's
address and seed are given.
"""

import asyncio
import json
import sys

import sr25519
from async_substrate_interface import AsyncSubstrateInterface

URL, ADDRESS, SEED = sys.argv[1:]
PAIR = sr25519.pair_from_seed(bytes.fromhex(SEED))


class Alice:
    """Key pair with the methods that the library calls."""

    ss58_address = ADDRESS
    public_key = PAIR[0]
    crypto_type = 1
    ss58_format = 2112

    @staticmethod
    def sign(data):
        """Return the signature of the data."""
        message = bytes.fromhex(data[2:]) if isinstance(data, str) else bytes(getattr(data, "data", data))
        return sr25519.sign(PAIR, message)


async def heads_of(chain, count):
    """Return the numbers of the next new heads."""
    heads = []

    async def on_head(head):
        heads.append(head["header"]["number"])
        return heads if len(heads) == count else None

    await chain.subscribe_block_headers(on_head)
    return heads


async def main():
    """Print what the library reads of the chain."""
    async with AsyncSubstrateInterface(URL, ss58_format=2112) as chain:
        report = {"genesis": await chain.get_block_hash(0), "chain": chain.chain}
        version = await chain.runtime_call("Core", "version")
        report["specVersion"] = getattr(version, "value", version)["spec_version"]
        account = await chain.query("System", "Account", [ADDRESS])
        report["providers"] = getattr(account, "value", account)["providers"]
        report["accounts"] = len([key async for key, _ in await chain.query_map("System", "Account")])
        call = await chain.compose_call("System", "remark_with_event", {"remark": "0x636621"})
        report["fee"] = (await chain.get_payment_info(call, Alice))["partial_fee"]
        report["heads"] = await heads_of(chain, 3)
        extrinsic = await chain.create_signed_extrinsic(call, Alice, era={"period": 64})
        receipt = await chain.submit_extrinsic(extrinsic, wait_for_finalization=True)
        report["success"], report["finalized"] = await receipt.is_success, receipt.finalized
        events = [event["event"] for event in await receipt.triggered_events]
        report["events"] = [f"{event['module_id']}.{event['event_id']}" for event in events]
        print(json.dumps(report))


asyncio.run(main())
