"""Source locations of covered blocks, and which parts of TVM's source a campaign has reached."""
