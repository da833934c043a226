"""Fuzzing as a check: a campaign or a replay, judged, and reported in the formats that a CI service reads.

`outcome` is what came of it; `campaign` and `expectation` bring it about; `carry` is the directory that passes from one
run to the next; `junit`, `sarif` and `markdown` are pure functions of an outcome, which `files` writes.
"""
