"""The arithmetic harness: TVM's arithmetic analyzer against enumeration.

Random integer expressions over variables with small domains go through every simplifier and analysis of
`tvm.sym`; what these claim is compared with the values of the expression at all assignments. An
assignment counts only where the original expression is free of undefined behaviour, see `evaluate`.

    model       the values: an expression, a variable with its domain, a problem
    generate    random problems
    evaluate    what an expression means at one assignment, in Python integers: the judge
    enumerate   the same at all assignments at once, in NumPy: the sieve before the judge
    bridge      to TVM's nodes and back
    checks      the table of analyses and what each claims
    inspect     one problem: the claims that are false, with the counterexample
    reduce      smaller problems on which the same analysis is still wrong
    basis       the questions that an answer rests on: who is at fault
    cause       what a wrong answer is due to: the words of its signature
    tier        whether a user may meet it
    finding     titles and signatures
    batch       what the forked child does with a range of iterations
    worker      the loop of one worker
"""
