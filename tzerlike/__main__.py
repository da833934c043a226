"""`python -m tzerlike` is the `tzerlike` command."""

from tzerlike.cli import main

main()
