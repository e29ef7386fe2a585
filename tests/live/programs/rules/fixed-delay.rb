# A pause of one length after each of thirty rounds, in the program's first thread and in another; and rounds without, for which the first
# thread waits.
require 'digest'

def round(n)
  2000.times { |i| Digest::SHA256.digest("#{n} #{i}") }
end

def rounds(pauses)
  30.times do |n|
    round(n)
    sleep 0.02 if pauses
  end
end

pauses = ARGV[0] == 'fires'
rounds(pauses)
other = Thread.new { rounds(pauses) }
other.join
