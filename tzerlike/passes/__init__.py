"""The second dimension of the search: passes, their arguments and preconditions, and sequences of them."""
