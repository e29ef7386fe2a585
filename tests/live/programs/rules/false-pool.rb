# Four threads that compute in Ruby, where one runs at a time (fires), or four processes, which run side by side (silent).

def compute
  total = 0
  6_000_000.times { |number| total += number * 3 }
  total
end

if ARGV[0] == 'fires'
  Array.new(4) { Thread.new { compute } }.each(&:join)
else
  Array.new(4) { fork { compute } }.each { |pid| Process.wait(pid) }
end
