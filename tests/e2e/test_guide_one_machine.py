"""The recovery on one machine, as its page has it: pasted, and paid to the wei."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cfnode.sdk import SwapSDK
from tests.documentation import block, outputs
from tests.e2e.guide import differences
from tests.e2e.shell import Shell, started_by
from tests.process import environment
from tests.support.devchain.local_evm import require_py_evm, started_evm

pytestmark = pytest.mark.world

PAGE = "docs/guide/recover.md"
EVM = "http://127.0.0.1:8545"
_URL = re.compile(r"http://127\.0\.0\.1:\d+")


def until_mined(evm: subprocess.Popen[str]) -> str:
    """Return the line of the first block."""
    assert evm.stdout is not None
    return next(line for line in evm.stdout if line.startswith("Block 1: "))


def test_a_payout_that_failed_is_paid_to_the_wei(tmp_path: Path) -> None:
    """Pay a failed payout to the wei on one machine, and report it as recovered."""
    require_py_evm()
    shell = Shell(tmp_path)
    with started_by(tmp_path, block(PAGE, "cfnode run --dev --dev-seal instant")) as node:
        shell = Shell(tmp_path, node.url)
        line = ["bash", "-euc", f"exec {block(PAGE, 'cfnode dev evm').strip()} --port 0"]
        path = {
            "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CFNODE_URL": node.url,
        }
        with started_evm(line, tmp_path, env=environment(tmp_path) | path) as evm:
            assert evm.stdout is not None
            match = _URL.search(evm.stdout.readline())
            assert match
            pasted = block(PAGE, "cfnode dev fail-receiver").replace(EVM, match[0])
            printed = shell.run(pasted)
            assert re.search(r"^Block 1: 0x[0-9a-f]{64} succeeded, \d+ gas$", until_mined(evm), re.MULTILINE)
            look = block(PAGE, "cfnode swap status 5-Bitcoin-1 --network dev --eth-rpc").replace(
                EVM, match[0]
            )
            looked = shell.run(look)
            document = json.loads(shell.run(f"{look.strip()} --json"))["failedPayout"]
            watched = shell.run(look.replace("swap status", "swap watch"))  # fails if the command does
        with SwapSDK(network="dev", rpc_url=node.url) as sdk:
            egress = sdk.get_status_v2("5-Bitcoin-1").swap_egress
    assert "Recover it:" in printed
    assert re.search(r"^Recovered: nonce \d+ is used on Ethereum, so the receiver has been", looked, re.M)
    assert looked.startswith("FAILED: the output could not be paid out; it was recovered\n")
    assert "Recover it:" not in looked
    assert watched.endswith(looked)
    assert "is on offer" not in looked
    assert (document["isRecovered"], document["command"]) == (True, None)
    assert egress is not None
    before, after = (int(match, 16) for match in re.findall(r'^"(0x[0-9a-f]+)"$', printed, re.MULTILINE))
    assert before == 0
    assert after == egress.amount
    (documented,) = (text for text in outputs(PAGE) if text.startswith('"0x0"'))
    length = len(documented.splitlines())
    last = "\n".join(printed.splitlines()[-length:])
    assert not differences(documented, last), last
    whole, part = divmod(after, 10**18)
    assert f"Done: {whole}.{f'{part:018}'.rstrip('0')} ETH paid to" in printed
