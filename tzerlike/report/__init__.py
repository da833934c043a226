"""What people read about findings and campaigns.

Of a finding: `subject` is what there is to tell, `markdown` tells it as an issue, `regression` as a test in TVM's
style. These know no files; `refresh` makes the report of a bundle anew. Of a campaign: `overview` reads its directory,
`text` and `page` show what it read.
"""
