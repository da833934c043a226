"""Tensor IR under test: PrimFuncs, their mutators, the applicable passes, and the texts about them.

`harness` puts it together; `pairs` is what the loop draws from; `texts` makes the source texts of a bundle, of which
`script`, with `parts` and `running`, writes repro.py, and `regression`, with `checks`, the test.
"""
