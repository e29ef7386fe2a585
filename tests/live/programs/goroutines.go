// Programs of goroutines whose times are known by their own clocks: goroutines WHAT [fixed] [FOLDER]. Prints how long what it does took,
// how long the process was on processors meanwhile, and how long its threads were ready for one. `fixed` leaves out the call that is meant to be slow.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var sink [64]uint64

//go:noinline
func work(units int, which int) {
	sum := sink[which]
	for i := 0; i < units*1000; i++ {
		sum = sum*31 + uint64(i)
	}
	sink[which] = sum
}

//go:noinline
func garbage(units int) int {
	kept := make([][]byte, 512)
	for i := 0; i < units; i++ {
		kept[i%len(kept)] = make([]byte, 4096)
		work(2, 0)
	}
	return len(kept)
}

// A call that blocks a thread.
//
//go:noinline
func block(length time.Duration) {
	asked := syscall.NsecToTimespec(int64(length))
	syscall.Nanosleep(&asked, nil)
}

func flushes(path string, records int, fixed bool) {
	file, err := os.Create(path)
	if err != nil {
		os.Exit(1)
	}
	lines := make(chan int)
	done := make(chan bool)
	go func() {
		for line := range lines {
			fmt.Fprintln(file, line)
			if !fixed {
				file.Sync()
			}
			work(100, 1)
		}
		file.Sync()
		done <- true
	}()
	for i := 0; i < records; i++ {
		work(50, 0)
		lines <- i
	}
	close(lines)
	<-done
	file.Close()
	os.Remove(path)
}

// One goroutine flushes what it computes.
func flushesAlone(path string, records int, fixed bool) {
	file, err := os.Create(path)
	if err != nil {
		os.Exit(1)
	}
	for i := 0; i < records; i++ {
		work(100, 0)
		fmt.Fprintln(file, i)
		if !fixed {
			file.Sync()
		}
	}
	file.Sync()
	file.Close()
	os.Remove(path)
}

// A token goes to and fro, and who has it works.
func pingPong(rounds int) {
	there, back := make(chan int), make(chan int)
	go func() {
		for token := range there {
			work(300, 1)
			back <- token
		}
		close(back)
	}()
	for i := 0; i < rounds; i++ {
		there <- i
		<-back
		work(300, 0)
	}
	close(there)
	<-back
}

// Workers take what to do from a channel without room.
func pool(workers, jobs int, fixed bool) {
	todo := make(chan int)
	var all sync.WaitGroup
	for w := 1; w <= workers; w++ {
		all.Add(1)
		go func(w int) {
			defer all.Done()
			for range todo {
				if !fixed {
					block(4 * time.Millisecond)
				}
				work(500, w)
			}
		}(w)
	}
	for i := 0; i < jobs; i++ {
		todo <- i
	}
	close(todo)
	all.Wait()
}

// Each takes the same lock, and holds it while a call blocks.
func locked(workers, rounds int, fixed bool) {
	var lock sync.Mutex
	var all sync.WaitGroup
	for w := 1; w <= workers; w++ {
		all.Add(1)
		go func(w int) {
			defer all.Done()
			for i := 0; i < rounds; i++ {
				lock.Lock()
				if !fixed {
					block(3 * time.Millisecond)
				}
				work(300, w)
				lock.Unlock()
			}
		}(w)
	}
	all.Wait()
}

// One goroutine blocks in calls while others have all of Go's processors: it waits for one of these after each.
func behind(records int, fixed bool) {
	over := make(chan bool)
	for w := 1; w <= runtime.GOMAXPROCS(0); w++ {
		go func(w int) {
			for {
				select {
				case <-over:
					return
				default:
					work(100, w)
				}
			}
		}(w)
	}
	for i := 0; i < records; i++ {
		work(300, 0)
		if !fixed {
			block(2 * time.Millisecond)
		}
	}
	close(over)
}

func computing(goroutines, units int) {
	var all sync.WaitGroup
	for w := 1; w <= goroutines; w++ {
		all.Add(1)
		go func(w int) {
			defer all.Done()
			for i := 0; i < units; i++ {
				work(1000, w)
			}
		}(w)
	}
	all.Wait()
}

func usedCPU() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// How long all threads were ready for a processor so far, as the kernel counts it.
func waited() time.Duration {
	var sum time.Duration
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, file := range files {
		var ran, ready time.Duration
		line, _ := os.ReadFile(file)
		if _, err := fmt.Sscan(string(line), &ran, &ready); err == nil {
			sum += ready
		}
	}
	return sum
}

func main() {
	what, fixed, folder := os.Args[1], false, "."
	for _, argument := range os.Args[2:] {
		if argument == "fixed" {
			fixed = true
		} else {
			folder = argument
		}
	}
	// The recorder looks at a new program every 20 ms.
	asked := syscall.NsecToTimespec(60000000)
	syscall.Nanosleep(&asked, nil)
	ready := waited()
	begun, used := time.Now(), usedCPU()
	switch what {
	case "alone":
		for i := 0; i < 1000; i++ {
			work(1000, 0)
		}
	case "garbage":
		for i := 0; i < 60; i++ {
			garbage(4000)
		}
	case "computing":
		computing(6, 250)
	case "flushes":
		flushes(folder+"/flushed", 2500, fixed)
	case "flushes-alone":
		flushesAlone(folder+"/flushed", 2500, fixed)
	case "ping-pong":
		pingPong(1500)
	case "pool":
		pool(4, 400, fixed)
	case "behind":
		behind(80, fixed)
	case "locked":
		locked(4, 60, fixed)
	}
	took, used := time.Since(begun), usedCPU()-used
	ready = waited() - ready
	fmt.Printf("{\"took_ns\": %d, \"cpu_ns\": %d, \"ready_ns\": %d}\n", took.Nanoseconds(), used.Nanoseconds(), ready.Nanoseconds())
}
