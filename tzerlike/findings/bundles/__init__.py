"""From a finding to its bundle: confirmed, with its inputs, its readable program and its repro.py.

`bundle` knows the files. The others know how one kind of finding is looked at again: `compilation`, `text` (a program
that does not come back from its text), `mutation_crash` (calls that build a program).
"""
