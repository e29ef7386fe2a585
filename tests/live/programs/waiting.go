// Goroutines that do nothing but wait, and make no calls: for a lock, a channel, a timer. The first ones hold what the others wait for until
// the end.
package main

import (
	"sync"
	"time"
)

const each = 60

var lock sync.Mutex
var all sync.WaitGroup

//go:noinline
func locker() {
	lock.Lock()
	lock.Unlock()
	all.Done()
}

//go:noinline
func receiver(from chan int) {
	<-from
	all.Done()
}

//go:noinline
func waiter(length time.Duration) {
	time.Sleep(length)
	all.Done()
}

func main() {
	// The recorder looks at a new program every 20 ms.
	time.Sleep(60 * time.Millisecond)
	lock.Lock()
	values := make(chan int)
	all.Add(3 * each)
	for i := 0; i < each; i++ {
		go locker()
		go receiver(values)
		go waiter(600 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	for i := 0; i < each; i++ {
		values <- i
	}
	lock.Unlock()
	all.Wait()
}
