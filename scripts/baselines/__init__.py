"""Simpler fuzzers to compare with, on the same compiler, children and coverage; see scripts/ablation.py."""
