"""`tzerlike bisect`: the step of a compilation that is guilty of a bundle's finding, written to bisect.json."""
