"""A forked child and its parent: what the child is asked to look at, how far it got, how it says no."""
