// Ten goroutines wake up every 20 ms, each for a moment.
package main

import "time"

var waking = worksAndParks("main.waker")

func waker() {
	defer all.Done()
	mine := waking.own()
	for i := 0; i < 80; i++ {
		mine.work(func() { compute(500 * time.Microsecond) })
		mine.park(func() { time.Sleep(20 * time.Millisecond) })
	}
}

func main() {
	begin()
	start(10, waker)
	finish()
}
