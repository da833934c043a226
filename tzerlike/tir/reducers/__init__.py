"""Ways to make a program smaller, each a function from a program to its candidates."""
