"""Reports about a campaign: `overview` reads its directory, `text` and `page` show it."""
