"""Everything about a finding: its bundle, its repro and report, and reducing, replaying and grouping it."""
