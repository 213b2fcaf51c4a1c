-- The fields of `INFO bf` for the option -script of prometheus-redis-exporter, which evaluates this
-- on the server at every scrape: names and values in turn.
local fields = {}
for name, value in string.gmatch(redis.call('INFO', 'bf'), '(bf_[%w_]+):(%d+)\r') do
    table.insert(fields, name)
    table.insert(fields, value)
end
return fields
