"""Kinds of tested programs, as a campaign's loop uses them (tzerlike.campaign.harness)."""
