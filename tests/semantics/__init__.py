"""Tiny programs with the verdict that docs/tir-semantics.md demands for them."""
