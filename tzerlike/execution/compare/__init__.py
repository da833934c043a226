"""Two builds of a program and the interpreter, on the same inputs: their results and their speed."""
