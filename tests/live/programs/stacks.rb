# Known lines that sleep and compute; interpreters.rs says what must be seen of them.
class Work
  def asleep
    sleep 0.021 # waits 21
  end

  def self.compute(n)
    sum = 0
    i = 0
    while i < n # computes
      sum = (sum * 31 + i) % 1000003 # computes
      i += 1 # computes
    end
    sum
  end
end

def outer(work)
  work.asleep
end

def calls_back
  [1].each do |_|
    sleep 0.022 # waits 22
  end
end

def in_child
  sleep 0.023 # waits 23
end

def in_thread
  sleep 0.026 # waits 26
end

sleep 0.1
3.times do
  outer(Work.new)
  calls_back
end
pid = fork { in_child }
Process.wait(pid)
spinning = Thread.new { in_thread }
spinning.join
ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.6
Work.compute(20_000) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends
eval("def evaluated\n sleep 0.024\n end\n evaluated")
