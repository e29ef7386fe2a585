// Twenty goroutines share four places, and keep each for 5 ms and more.
package main

import "time"

var places = make(chan struct{}, 4)
var limiting = worksAndParks("main.limited")

func limited() {
	defer all.Done()
	mine := limiting.own()
	for i := 0; i < 20; i++ {
		mine.park(func() { places <- struct{}{} })
		mine.work(func() { compute(time.Millisecond) })
		mine.park(func() { time.Sleep(5 * time.Millisecond) })
		<-places
	}
}

func main() {
	begin()
	start(20, limited)
	finish()
}
