"""Starts of cfnode's programs by a fork of a process that has imported them.

Most of the time that a start of a node, of an executor or of a command takes is that of imports, and tests
start thousands.

1. A test process starts one *fork server* (`server`): a fresh interpreter that imports all of cfnode. It
   opens nothing and has one thread, so that a fork of it is as good as a new process.
2. `ForkingPopen` (`popen`) takes the place of `subprocess.Popen`. A command line that begins a program of
   cfnode in this interpreter becomes an order to the server; any other starts as before.
3. The server clones itself with CLONE_PARENT: the new process is a child of the *test* process. Its pid, exit
   code, signals and waiting are therefore those of any other subprocess.
4. The new process puts descriptors, session, directory, environment and arguments in place as `exec` would
   have, and runs the program (`program`). A thread in another network namespace starts its programs anew.
5. A forked node starts executors in this way too: before its program begins, it forks a server for itself.
6. Shells have a `cfnode` that gives its words to a server (`shell`).

What a fork cannot show starts anew: how long a start takes, which modules it imports, how much memory it has.
Such tests use the fixture `new_processes`, or set CFNODE_TEST_FORK=0 in the environment of the process; set
for the run, it starts every process anew. The package `cfnode` does not know this one.
"""

from tests.support.forking.popen import ForkingPopen, forking
from tests.support.forking.program import SWITCH
from tests.support.forking.shell import write_command

__all__ = ["SWITCH", "ForkingPopen", "forking", "write_command"]
