// Four goroutines take one lock in turn, and compute while they have it.
package main

import (
	"sync"
	"time"
)

var lock sync.Mutex
var guarding = worksAndParks("main.guarded")

func guarded() {
	defer all.Done()
	mine := guarding.own()
	for i := 0; i < 100; i++ {
		mine.park(lock.Lock)
		mine.work(func() { compute(3 * time.Millisecond) })
		lock.Unlock()
		mine.park(func() { time.Sleep(2 * time.Millisecond) })
	}
}

func main() {
	begin()
	start(4, guarded)
	finish()
}
