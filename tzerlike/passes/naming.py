"""Names of passes in findings."""


def short_name(name: str) -> str:
    """A pass without its namespace; what has a blank in it is no pass, and stays as it is."""
    return name if " " in name else name.rpartition(".")[2]
