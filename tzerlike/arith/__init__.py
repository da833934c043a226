"""The arithmetic harness: TVM's arithmetic analyzer against enumeration.

Random integer expressions over variables with small domains go through every simplifier and analysis of
`tvm.sym`; their claims are compared with the values of the expression at all assignments. An
assignment counts only where the original expression is free of undefined behavior, see `evaluate`.

    model       the values: an expression, a variable with its domain, a problem
    generate    random problems
    evaluate    the value of an expression at one assignment, in Python integers: the judge
    enumerate   the same at all assignments at once, in NumPy: the filter before the judge
    bridge      to TVM's nodes and back
    checks      the table of analyses and what each claims
    inspect     one problem: the claims that are false, with the counterexample
    reduce      smaller problems on which the same analysis is still wrong
    basis       the more basic questions that an answer rests on: which analysis is at fault
    cause       the cause of a wrong answer: the words of its signature
    tier        whether a user can meet it
    finding     titles and signatures
    batch       the forked child's work on a range of iterations
    worker      the loop of one worker
"""
