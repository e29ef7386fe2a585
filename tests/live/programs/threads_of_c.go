// Goroutines that block in calls, so that Go has C make threads for them: a thread has no goroutine before Go's code runs in it.
package main

import "C"

import (
	"sync"
	"syscall"
)

func sleep(ms int64) {
	length := syscall.Timespec{Nsec: ms * 1000000}
	syscall.Nanosleep(&length, nil)
}

func main() {
	// Until then it is known that this is Go.
	sleep(200)
	var all sync.WaitGroup
	for i := 0; i < 12; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 20; j++ {
				sleep(5)
			}
		}()
	}
	all.Wait()
}
