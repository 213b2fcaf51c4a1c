# Runs commands through redis-rb: see ../programs.py for what it reads and writes.
require 'json'
require 'redis'

redis = Redis.new(path: ARGV[0])

def encode(value)
  case value
  when Redis::CommandError then { error: value.message }
  when String then value.unpack1('H*')
  when Array then value.map { |element| encode(element) }
  else value
  end
end

$stdout.sync = true
$stdin.each_line do |line|
  reply = encode(redis.call(*line.strip.split(',', -1).map { |word| [word].pack('H*') }))
rescue Redis::CommandError => e
  puts JSON.generate({ raised: e.message })
else
  puts JSON.generate(reply)
end
