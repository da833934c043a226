"""One case, one forked child, one observation: `execute` forks and reads, `stages` is what the child does."""
