"""An attack in a process of its own: `python -m tests.support.serving.attacking NAME TARGET`.

In the test's own process the attacker's threads would share the interpreter's lock with the honest client,
whose times would then have those of the attacker's work in them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from tests.process import ROOT
from tests.support.serving.attacks import ATTACKS, Target

__all__ = ["attacking"]

BEGUN = "begun\n"


@contextmanager
def attacking(name: str, target: Target) -> Iterator[None]:
    """Play an attack while the block runs; its odd answers are added to those of the target."""
    document = json.dumps(asdict(target) | {"odd": []})
    command = [sys.executable, "-m", "tests.support.serving.attacking", name, document]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == BEGUN, f"the attack {name!r} did not begin"
        try:
            yield
        finally:
            process.stdin.close()
            target.odd += [text.encode("latin-1") for text in json.loads(process.stdout.read() or "[]")]
    assert process.returncode == 0, f"the attack {name!r} ended with {process.returncode}"


def main() -> None:
    """Play the attack of the command line until standard input ends."""
    name, document = sys.argv[1:]
    target = Target(**json.loads(document))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ATTACKS[name](target):
        print(BEGUN, end="", flush=True)
        sys.stdin.read()
    print(json.dumps([answer.decode("latin-1") for answer in target.odd]))


if __name__ == "__main__":
    main()
