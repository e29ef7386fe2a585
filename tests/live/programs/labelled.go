// Labels of goroutines, and by this program's own clocks how long each had which: `tag PATH NS`. Up to its end each is the only
// goroutine that works, but for those that are labelled, too.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var (
	lock sync.Mutex
	had  = map[string]time.Duration{}
)

func add(path string, begun time.Time) {
	lock.Lock()
	had[path] += time.Since(begun)
	lock.Unlock()
}

func spin(length time.Duration) {
	for begun := time.Now(); time.Since(begun) < length; {
	}
}

// A call that blocks a thread.
func block(length time.Duration) {
	asked := syscall.NsecToTimespec(int64(length))
	syscall.Nanosleep(&asked, nil)
}

func labelled(with context.Context, path string, do func(context.Context)) {
	pprof.Do(with, pprof.Labels("another", "label", "timesink", path, "zone", "last"), do)
}

func main() {
	wait, _ := strconv.Atoi(os.Args[1])
	time.Sleep(time.Duration(wait) * time.Millisecond)
	plain := context.Background()
	labelled(plain, "storage/scrub", func(within context.Context) {
		begun := time.Now()
		spin(300 * time.Millisecond)
		add("storage/scrub", begun)
		labelled(within, "storage/crc", func(context.Context) {
			begun := time.Now()
			spin(400 * time.Millisecond)
			add("storage/crc", begun)
		})
	})
	labelled(plain, "storage/wait", func(context.Context) {
		begun := time.Now()
		for i := 0; i < 20; i++ {
			block(10 * time.Millisecond)
		}
		add("storage/wait", begun)
	})
	// A goroutine that is started has the labels of who started it.
	labelled(plain, "request/reply", func(context.Context) {
		done := make(chan bool)
		go func() {
			begun := time.Now()
			spin(200 * time.Millisecond)
			block(100 * time.Millisecond)
			add("request/reply", begun)
			close(done)
		}()
		<-done
	})
	// Without ours there is no tag.
	pprof.Do(plain, pprof.Labels("another", "label"), func(context.Context) { spin(50 * time.Millisecond) })
	for path, length := range had {
		fmt.Printf("tag %s %d\n", path, length.Nanoseconds())
	}
}
