// Four goroutines count records under a lock and write each to a file of their own; while they have the lock, or after.
package main

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

var all sync.WaitGroup
var lock sync.Mutex
var count int

func record(file *os.File, keep bool) {
	lock.Lock()
	count++
	line := fmt.Sprintf("record %d\n", count)
	if keep {
		file.WriteString(line)
		lock.Unlock()
		return
	}
	lock.Unlock()
	file.WriteString(line)
}

func take(number int, keep bool) {
	defer all.Done()
	file, err := os.OpenFile(fmt.Sprintf("records-%d.log", number), os.O_WRONLY|os.O_CREATE|syscall.O_SYNC, 0o600)
	if err != nil {
		panic(err)
	}
	for i := 0; i < 150; i++ {
		record(file, keep)
	}
}

func main() {
	for number := 0; number < 4; number++ {
		all.Add(1)
		go take(number, os.Args[1] == "slow")
	}
	all.Wait()
}
