"""A campaign over machines that share no files: each works in a mirror of the campaign's directory."""
