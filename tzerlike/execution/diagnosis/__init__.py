"""The passes of a compilation, one by one: the program is examined after each, to find the culprit of a finding."""
