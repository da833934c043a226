"""A finding as a maintainer reads it.

`subject` is what there is to say, `markdown` writes it as an issue, `regression` as a test in TVM's own style. These
know no files.
"""
