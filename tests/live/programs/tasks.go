// Goroutines whose work is known by their first function: some compute, one flushes, one sleeps in a call, many hand a
// token on. They share threads, and are moved between them.
package main

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var sink uint64

//go:noinline
func spin(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 50000; i++ {
			sink = sink*31 + uint64(i)
		}
		runtime.Gosched()
	}
}

func spinner(all *sync.WaitGroup) {
	defer all.Done()
	spin(time.Now().Add(500 * time.Millisecond))
}

func flusher(all *sync.WaitGroup, path string) {
	defer all.Done()
	file, err := os.Create(path)
	if err != nil {
		os.Exit(1)
	}
	for i := 0; i < 60; i++ {
		file.WriteString("a line\n")
		if file.Sync() != nil {
			os.Exit(1)
		}
	}
	file.Close()
	os.Remove(path)
}

func sleeper(all *sync.WaitGroup) {
	defer all.Done()
	for i := 0; i < 40; i++ {
		length := syscall.Timespec{Nsec: 5000000}
		syscall.Nanosleep(&length, nil)
	}
}

func forwarder(all *sync.WaitGroup, in, out chan int) {
	defer all.Done()
	for token := range in {
		for i := 0; i < 2000; i++ {
			sink += uint64(i * token)
		}
		out <- token + 1
	}
	close(out)
}

func main() {
	// The recorder looks at a new program every 20 ms.
	time.Sleep(60 * time.Millisecond)
	var all sync.WaitGroup
	all.Add(3 + 2 + 50)
	for i := 0; i < 3; i++ {
		go spinner(&all)
	}
	go flusher(&all, os.Args[1]+"/flushed")
	go sleeper(&all)
	first := make(chan int)
	last := first
	for i := 0; i < 50; i++ {
		next := make(chan int)
		go forwarder(&all, last, next)
		last = next
	}
	for i := 0; i < 200; i++ {
		first <- i
		<-last
	}
	close(first)
	<-last
	all.Wait()
}
