# Eight threads ask a server that answers after 40 ms, five times each, through a pool of connections.
require "connection_pool"
require "net/http"

port = Integer(ENV["PORT"])
pool = ConnectionPool.new(size: Integer(ARGV[0]), timeout: 30) { Net::HTTP.start("127.0.0.1", port) }
threads = 8.times.map do
  Thread.new { 5.times { pool.with { |connection| connection.get("/40").body } } }
end
threads.each(&:join)
