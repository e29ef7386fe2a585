// A goroutine flushes each record to disk; others compute and tick meanwhile.
package main

import (
	"os"
	"time"
)

var writing, reckoning, ticking = worksAndParks("main.writer"), worksAndParks("main.reckoner"), worksAndParks("main.ticker")

func writer() {
	defer all.Done()
	mine := writing.own()
	log, err := os.CreateTemp(".", "log")
	if err != nil {
		panic(err)
	}
	os.Remove(log.Name())
	for i := 0; i < 150; i++ {
		mine.work(func() {
			log.WriteString("a record\n")
			log.Sync()
		})
		mine.park(func() { time.Sleep(4 * time.Millisecond) })
	}
}

func reckoner() {
	defer all.Done()
	mine := reckoning.own()
	for i := 0; i < 200; i++ {
		mine.work(func() { compute(2 * time.Millisecond) })
		mine.park(func() { time.Sleep(2 * time.Millisecond) })
	}
}

func ticker() {
	defer all.Done()
	mine := ticking.own()
	for i := 0; i < 100; i++ {
		mine.park(func() { time.Sleep(5 * time.Millisecond) })
	}
}

func main() {
	begin()
	start(1, writer)
	start(1, reckoner)
	start(1, ticker)
	finish()
}
