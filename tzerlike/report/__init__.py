"""What people read about findings and campaigns.

Of a finding: `subject` is what there is to tell, `markdown` tells it as an issue, `regression` as a test in TVM's
style. These know no files. Of a campaign: `overview` reads its directory, `text` and `page` show what it read.
"""
