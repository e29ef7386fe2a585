// Known chains in Go: a leaf that is called through known functions, on a processor and blocked in system calls, by the first
// goroutine and by others; work for the scheduler, the collector and the allocator, which have stacks of their own.
package main

import (
	"os"
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
	}
}

//go:noinline
func inCPU() { spin(time.Now().Add(300 * time.Millisecond)) }

//go:noinline
func inSleep() {
	for i := 0; i < 20; i++ {
		length := syscall.Timespec{Nsec: 5000000}
		syscall.Nanosleep(&length, nil)
	}
}

//go:noinline
func inPipe() {
	var ends [2]int
	if syscall.Pipe(ends[:]) != nil {
		os.Exit(1)
	}
	go func() {
		for i := 0; i < 20; i++ {
			time.Sleep(3 * time.Millisecond)
			syscall.Write(ends[1], []byte{1})
		}
	}()
	var buffer [1]byte
	for i := 0; i < 20; i++ {
		syscall.Read(ends[0], buffer[:])
	}
}

//go:noinline
func inFlush() {
	file, err := os.CreateTemp(os.Args[1], "flush")
	if err != nil {
		os.Exit(1)
	}
	for i := 0; i < 50; i++ {
		file.Write([]byte("a line\n"))
		syscall.Fsync(int(file.Fd()))
	}
}

type node struct{ left, right *node }

//go:noinline
func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{grow(depth - 1), grow(depth - 1)}
}

// The allocator and the collector, and goroutines that hand over to each other.
//
//go:noinline
func inRuntime() {
	for i := 0; i < 8; i++ {
		grow(17)
	}
	there, back := make(chan int), make(chan int)
	go func() {
		for i := range there {
			back <- i
		}
		close(back)
	}()
	for i := 0; i < 50000; i++ {
		there <- i
		<-back
	}
	close(there)
}

//go:noinline
func middle(leaf func()) { leaf(); sink++ }

//go:noinline
func outer() {
	for _, leaf := range []func(){inCPU, inSleep, inPipe, inFlush, inRuntime} {
		middle(leaf)
	}
}

func main() {
	outer()
	var others sync.WaitGroup
	others.Add(2)
	for i := 0; i < 2; i++ {
		go func() {
			outer()
			others.Done()
		}()
	}
	others.Wait()
}
