// Three goroutines compute in slices of different lengths, in turn.
package main

import (
	"runtime"
	"time"
)

var smalls, middles, larges = works("main.small"), works("main.middle"), works("main.large")

func slices(of *clock, length time.Duration) {
	defer all.Done()
	mine := of.own()
	for i := 0; i < 300; i++ {
		mine.work(func() { compute(length) })
		runtime.Gosched()
	}
}

func small()  { slices(smalls, 1*time.Millisecond) }
func middle() { slices(middles, 2*time.Millisecond) }
func large()  { slices(larges, 4*time.Millisecond) }

func main() {
	begin()
	start(1, small)
	start(1, middle)
	start(1, large)
	finish()
}
