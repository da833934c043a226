"""`python -m tzerlike` and the script `tzerlike`: signals first, then everything that takes time to import."""

import resource
import signal
import sys

if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
    # Python would leave compiled modules behind that are cut off, and no command would start any more.
    sys.dont_write_bytecode = True

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # What follows takes longer to import than a person takes to press Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from tzerlike.processes import signals


def main() -> None:
    """Entry point of the command."""
    signals.end_at_once()
    from tzerlike.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
