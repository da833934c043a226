"""Where in TVM's source the blocks of coverage lie, and what of it a campaign has reached."""
