"""Which step of a compilation is guilty of a bundle's finding, as a command: its answer is the bundle's bisect.json."""
