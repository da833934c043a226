"""What a program may contain for its compiled code to be run here, whoever wrote it.

A file is data, and a compiler only translates it, but the result runs as the user. So whatever a case holds has to be
in a table: `stored` looks at a file's text before TVM loads it, `native` at the program and at what it was lowered to
before compiled code is called. `names` has the tables of both. A name that is in none of them is not run; nothing
tries to tell harmful ones from harmless ones.

Importing the package needs no TVM; `module` and `native` do.
"""
