"""Odd forms: constructs that hardly anybody would write, by the structure of a program."""
