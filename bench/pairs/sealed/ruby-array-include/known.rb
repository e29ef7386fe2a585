require "set"

known = (1..8000).map { |n| "name #{n}" }
known = known.to_set unless ARGV.empty?
puts (1..9000).count { |n| known.include?("name #{n * 2}") }
