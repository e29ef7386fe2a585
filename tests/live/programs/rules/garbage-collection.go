// A table of small things that point to each other, replaced again and again (fires), or the same numbers in one slice
// without pointers, through which the collector need not look (silent).
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

type row struct {
	next *row
	at   [6]int
}

func withPointers(rows, rounds int) (sum int) {
	table := make([]*row, rows)
	for round := 0; round < rounds; round++ {
		for i := range table {
			table[i] = &row{next: table[(i+1)%rows]}
			table[i].next = nil
			table[i].at[0] = i + round
			sum += table[i].at[0]
		}
	}
	return sum
}

func withNumbers(rows, rounds int) (sum int) {
	table := make([][6]int, rows)
	for round := 0; round < rounds; round++ {
		for i := range table {
			table[i] = [6]int{i + round}
			sum += table[i][0]
		}
	}
	return sum
}

func main() {
	// On one processor, and with little room, so that the collector is in the way.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(50)
	if os.Args[1] == "fires" {
		fmt.Println(withPointers(300_000, 30))
	} else {
		fmt.Println(withNumbers(300_000, 600))
	}
}
