"""The commands of `tzerlike`, a file for each group of them; main.py combines them."""
