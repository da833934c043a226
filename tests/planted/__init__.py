"""Passes that were planted to be found: some change what a program means, some only what it looks like."""
