"""The values that flow through every other room, and the small tools that know none: errors, decoding, randomness."""
