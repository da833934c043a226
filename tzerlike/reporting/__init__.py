"""Reports about a campaign: `overview` reads its directory, `text` and `page` show it.

`refresh` makes the report of one bundle anew.
"""
