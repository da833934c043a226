"""Two builds of a program and the interpreter, on the same inputs: what they compute, and how long it takes."""
