// What the programs beside this tell of their own goroutines: seconds on a thread and seconds parked, by their first function.
//
// They are run without interruptions of Go's own (GODEBUG=asyncpreemptoff=1): a goroutine that is interrupted in a piece of work is on no
// thread, and cannot know that. Its clock is a raw call for the same reason: before any other one Go may have others run.
package main

import (
	"encoding/json"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// A clock of all goroutines that begin with one function.
type clock struct {
	onThread, parked atomic.Int64
	parks            bool
}

var clocks = map[string]*clock{}

// worksAndParks is called before any goroutine is started, as is works for those whose time parked is not told.
func worksAndParks(name string) *clock {
	clocks[name] = &clock{parks: true}
	return clocks[name]
}

func works(name string) *clock {
	clocks[name] = &clock{}
	return clocks[name]
}

// The clock of one goroutine: what it does is work or it is parked.
type own struct {
	of   *clock
	last int64
}

func (c *clock) own() *own { return &own{of: c} }

// work is a part of a goroutine in which it does not wait in Go.
func (o *own) work(part func()) {
	began := now()
	if o.last != 0 {
		o.of.parked.Add(began - o.last)
	}
	part()
	o.last = now()
	o.of.onThread.Add(o.last - began)
}

// park is a part in which it does nothing else. A goroutine is seen by its calls and by samples.
func (o *own) park(part func()) {
	if o.last == 0 {
		o.last = now()
	}
	syscall.Getppid()
	part()
	syscall.Getppid()
	ended := now()
	o.of.parked.Add(ended - o.last)
	o.last = ended
}

func now() int64 {
	var at syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

var sink, perMillisecond uint64

// compute is on CPU for about that long.
func compute(length time.Duration) {
	value := sink
	for i := uint64(length) * perMillisecond / 1e6; i > 0; i-- {
		value = value*31 + i
	}
	if value == 0 {
		sink++
	}
}

var all sync.WaitGroup

// start starts so many goroutines that begin with the function, which calls all.Done.
func start(count int, function func()) {
	all.Add(count)
	for i := 0; i < count; i++ {
		go function()
	}
}

// The recorder looks at a new program every 20 ms.
func begin() {
	time.Sleep(100 * time.Millisecond)
	quickest := int64(1 << 60)
	perMillisecond = 1e6
	for i := 0; i < 10; i++ {
		began := now()
		compute(time.Millisecond)
		quickest = min(quickest, now()-began)
	}
	perMillisecond = 1e12 / uint64(quickest)
}

func finish() {
	all.Wait()
	told := map[string]map[string]float64{"on_thread": {}, "awaiting": {}}
	for name, clock := range clocks {
		if on := clock.onThread.Load(); on > 0 {
			told["on_thread"][name] = float64(on) / 1e9
		}
		if clock.parks {
			told["awaiting"][name] = float64(clock.parked.Load()) / 1e9
		}
	}
	json.NewEncoder(os.Stdout).Encode(told)
}
