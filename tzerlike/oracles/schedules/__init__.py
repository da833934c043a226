"""Programs that must mean the same: a scheduled program, compared with the original.

Schedule primitives claim to keep what a program computes, and no other oracle looks at that claim: a child that a
primitive got wrong is a program like any other, and is judged by what it says itself.
"""
