// A worker, or four of them, take jobs and wait 5 ms in a call for each.
package main

import (
	"os"
	"sync"
	"syscall"
)

var all sync.WaitGroup

func worker(jobs chan int) {
	defer all.Done()
	for job := range jobs {
		length := syscall.Timespec{Nsec: 5000000}
		syscall.Nanosleep(&length, nil)
		sum := uint64(job)
		for i := uint64(0); i < 300000; i++ {
			sum = sum*31 + i
		}
		if sum == 7 {
			println(sum)
		}
	}
}

func main() {
	workers := 4
	if os.Args[1] == "slow" {
		workers = 1
	}
	jobs := make(chan int)
	for i := 0; i < workers; i++ {
		all.Add(1)
		go worker(jobs)
	}
	for job := 0; job < 160; job++ {
		jobs <- job
	}
	close(jobs)
	all.Wait()
}
