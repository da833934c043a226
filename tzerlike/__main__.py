"""`python -m tzerlike` and the script `tzerlike`: signals first, then all that takes time to import."""

from tzerlike.processes import signals


def main() -> None:
    """Entry point of the command."""
    signals.end_at_once()
    from tzerlike.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
