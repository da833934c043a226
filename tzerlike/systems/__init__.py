"""The compiler under test: loading it, what it is called by, and making one from source."""
