"""The command line, and the roles of the processes that its commands start."""
