"""Along the passes of a compilation: the program is looked at after each one, to tell which is guilty of a finding."""
