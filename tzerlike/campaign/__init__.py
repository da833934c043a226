"""A campaign: its directory, its loop, and the workers and the supervisor that run it."""
