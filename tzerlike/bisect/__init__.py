"""Which step of a compilation is guilty of a finding: the program is looked at after each pass, by the interpreter."""
