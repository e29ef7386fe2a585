// A goroutine takes from whichever of two channels has something, or does without after a while.
package main

import "time"

var quick, slow = make(chan int), make(chan int)
var choosing, sending = worksAndParks("main.chooser"), worksAndParks("main.sender")

func sender() {
	defer all.Done()
	mine := sending.own()
	for i := 0; i < 100; i++ {
		mine.work(func() { compute(2 * time.Millisecond) })
		mine.park(func() { time.Sleep(3 * time.Millisecond) })
		mine.park(func() {
			select {
			case quick <- i:
			case slow <- i:
			}
		})
	}
}

func chooser() {
	defer all.Done()
	mine := choosing.own()
	for taken := 0; taken < 200; {
		mine.park(func() {
			select {
			case <-quick:
				taken++
			case <-slow:
				taken++
			case <-time.After(time.Millisecond):
			}
		})
		mine.work(func() { compute(time.Millisecond) })
	}
}

func main() {
	begin()
	start(2, sender)
	start(1, chooser)
	finish()
}
