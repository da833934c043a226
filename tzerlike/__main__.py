"""`python -m tzerlike` and the script `tzerlike`: signals first, then all that takes time to import."""

import signal

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
