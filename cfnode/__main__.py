"""`python -m cfnode` is the same as `cfnode`."""

from cfnode.cli import main

main()
