"""Along the passes of a compilation: the program is looked at after each one, to find the culprit of a finding."""
