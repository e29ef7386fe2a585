// A goroutine starts four others and waits until all of them are done, again and again.
package main

import (
	"sync"
	"time"
)

var round sync.WaitGroup
var starting, doing = worksAndParks("main.starter"), works("main.worker")

func worker() {
	defer round.Done()
	mine := doing.own()
	mine.work(func() { compute(3 * time.Millisecond) })
}

func starter() {
	defer all.Done()
	mine := starting.own()
	for i := 0; i < 80; i++ {
		mine.work(func() { compute(2 * time.Millisecond) })
		round.Add(4)
		for i := 0; i < 4; i++ {
			go worker()
		}
		mine.park(round.Wait)
	}
}

func main() {
	begin()
	start(1, starter)
	finish()
}
