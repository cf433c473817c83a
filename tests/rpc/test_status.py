"""`cfnode status` of a running development node."""

from __future__ import annotations

import json

import trio

from cfnode.rpc.table.convert import account
from tests.rpc.conftest import Served
from tests.support.cli.commands import run
from tests.support.rpc.channels import open_channel


async def test_a_broker_with_an_open_channel(instant: Served) -> None:
    """Report a broker's account, channels and balance, and nothing to warn of."""
    await open_channel(instant)
    url = f"http://127.0.0.1:{instant.port}"
    line = ("status", "--node", url, "--timeout", "60")
    code, out, err = await trio.to_thread.run_sync(run, *line, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert instant.node.broker is not None
    broker = report["broker"]
    assert (broker["account"], broker["role"]) == (account(instant.node.broker.account), "broker")
    assert broker["openChannelsByAsset"] == {"Ethereum/ETH": 1}
    assert 900 < float(broker["flip"]) < 1000
    assert report["best"]["number"] == instant.node.chain.best.number
    assert (report["chainType"], report["warnings"], report["unavailable"]) == ("Development", [], {})
