"""Names of passes in findings."""


def short_name(name: str) -> str:
    """A pass without its namespace."""
    return name.rpartition(".")[2]
