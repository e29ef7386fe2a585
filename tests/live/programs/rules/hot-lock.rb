# Four threads that ask a peer, twenty questions each: under one lock (fires), or each as it likes (silent).
require "socket"

QUESTION = [0, 0, 10, 0, 0, 0, 0xFFFFFFFF].pack("V*")
LOCK = Mutex.new

def answer(peer)
  peer.write(QUESTION)
  raise unless peer.read(10).size == 10
end

def ask(peer)
  ARGV[0] == "fires" ? LOCK.synchronize { answer(peer) } : answer(peer)
end

threads = Array.new(4) do
  Thread.new do
    peer = TCPSocket.new("10.77.0.2", 7000)
    20.times { ask(peer) }
  end
end
threads.each(&:join)
