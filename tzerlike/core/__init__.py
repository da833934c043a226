"""The values that flow through every other room, and small tools that know no room: errors, decoding, randomness."""
