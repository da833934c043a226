"""Bundles on other versions of TVM: a small judge that another Python runs, and how its answers are read.

The campaign's own processes need the TVM that tzerlike is made for. The judge here needs little of any: it loads,
applies passes, builds, and compares with the values that the bundle holds.
"""
