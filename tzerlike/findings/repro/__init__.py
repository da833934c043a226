"""The `repro.py` of a bundle: one file that needs tvm and numpy alone, and for some findings the inputs next to it."""
