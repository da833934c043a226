"""The commands of `tzerlike`, a file for each family of them; cli.py puts them together."""
