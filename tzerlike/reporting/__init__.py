"""What people read about a campaign: `overview` reads its directory, `text` and `page` show what it read.

`refresh` makes the report of one bundle anew.
"""
