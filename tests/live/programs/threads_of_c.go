// Goroutines that block in calls, so that Go has C make threads for them: a thread has no goroutine before Go's code runs in it.
package main

import "C"

import (
	"sync"
	"syscall"
)

func main() {
	var all sync.WaitGroup
	for i := 0; i < 12; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 5; j++ {
				length := syscall.Timespec{Nsec: 5000000}
				syscall.Nanosleep(&length, nil)
			}
		}()
	}
	all.Wait()
}
