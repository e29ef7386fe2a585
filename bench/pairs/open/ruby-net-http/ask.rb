require "net/http"

if ARGV.empty?
  4000.times { Net::HTTP.get(URI("http://127.0.0.1:18500/")) }
else
  Net::HTTP.start("127.0.0.1", 18500) { |http| 4000.times { http.get("/") } }
end
