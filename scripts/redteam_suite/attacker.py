"""One attack in a separate process: `python -m scripts.redteam_suite.attacker ROW TARGET SECONDS`.

It has the lowest claim on the processor, so that what the node loses it loses by its own work.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from scripts.redteam_suite import attacks_chain, attacks_rpc, attacks_wire
from scripts.redteam_suite.target import Target

NICE = 10
BEGUN = "begun"
"""Text printed when the attack begins: on a busy machine a process takes seconds to start."""


def main() -> None:
    """Run one attack for some seconds, at low priority."""
    os.nice(NICE)
    row, target, seconds = sys.argv[1], Target.of(json.loads(sys.argv[2])), float(sys.argv[3])
    threading.Thread(target=_end_after, args=(seconds,), daemon=True).start()
    print(BEGUN, flush=True)
    if row in attacks_chain.ATTACKS:
        attacks_chain.run(attacks_chain.ATTACKS[row], target)
    else:
        {**attacks_rpc.ATTACKS, **attacks_wire.ATTACKS}[row](target)
        time.sleep(seconds)


def _end_after(seconds: float) -> None:
    """End this process after some seconds, in case its parent has ended."""
    time.sleep(seconds)
    os._exit(0)


if __name__ == "__main__":
    main()
