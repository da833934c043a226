"""A second reading of docs/tir-semantics.md: a program translated to C, and its results on given inputs.

It shares no code with `tzerlike.tir.interpreter` and was written without a look at it, so that they do not err alike.
It does without TVM too: a program is read from its JSON (`graph`), written out as one C function (`statements`,
`expressions`, `buffers`, `intrinsics`; `prelude.h` has the arithmetic), compiled with gcc's sanitisers and run in a
process of its own (`running`). `verdict` compares what comes out with what an archive expects.
"""
