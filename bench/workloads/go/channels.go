// One goroutine makes numbers, another one takes them over a channel without room and needs longer for each.
package main

import "time"

var numbers = make(chan int)
var producing, consuming = worksAndParks("main.producer"), works("main.consumer")

func producer() {
	defer all.Done()
	mine := producing.own()
	for number := 0; number < 300; number++ {
		mine.work(func() { compute(time.Millisecond) })
		mine.park(func() { numbers <- number })
	}
	close(numbers)
}

func consumer() {
	defer all.Done()
	mine := consuming.own()
	for range numbers {
		mine.work(func() { compute(4 * time.Millisecond) })
	}
}

func main() {
	begin()
	start(1, producer)
	start(1, consumer)
	finish()
}
