"""Claims of the analyzer as queries for z3: proved, refuted by an assignment that is then executed, or unknown.

TVM has a z3 inside: nothing here is loaded where TVM is, and nothing here loads TVM. `client` starts a process of ours.

    formula     expressions as terms over unbounded integers
    prover      the verdict on a claim
    rule        what a proved rewrite says beyond its own constants and ranges
    book        rules with their verdicts, kept with a campaign
    server      the process that proves
    client      asks it
"""
