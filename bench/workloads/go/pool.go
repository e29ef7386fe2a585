// Four workers take jobs, compute for each and then wait in a call.
package main

import (
	"syscall"
	"time"
)

var jobs = make(chan int)
var giving, doing = worksAndParks("main.giver"), works("main.worker")

func worker() {
	defer all.Done()
	mine := doing.own()
	for range jobs {
		mine.work(func() {
			compute(2 * time.Millisecond)
			length := syscall.Timespec{Nsec: 4000000}
			syscall.Nanosleep(&length, nil)
		})
	}
}

func giver() {
	defer all.Done()
	mine := giving.own()
	for job := 0; job < 500; job++ {
		mine.park(func() { jobs <- job })
	}
	close(jobs)
}

func main() {
	begin()
	start(4, worker)
	start(1, giver)
	finish()
}
