// Four goroutines write records to one log; flushed after each, or after every fiftieth.
package main

import (
	"os"
	"sync"
	"time"
)

var all sync.WaitGroup

func take(log *os.File, every int) {
	defer all.Done()
	for number := 1; number <= 200; number++ {
		time.Sleep(time.Millisecond)
		log.WriteString("a record\n")
		if number%every == 0 {
			log.Sync()
		}
	}
}

func main() {
	log, err := os.OpenFile("records.log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	every := 50
	if os.Args[1] == "slow" {
		every = 1
	}
	for i := 0; i < 4; i++ {
		all.Add(1)
		go take(log, every)
	}
	all.Wait()
}
