// Requests of which every third one times out: its query goes on in a goroutine that then sends to a channel that nobody reads. `fixed` has
// room in the channel.
package main

import (
	"fmt"
	"os"
	"time"
)

func query(i int, slow bool) string {
	d := 5 * time.Millisecond
	if i%3 == 0 && slow {
		d = 40 * time.Millisecond
	}
	time.Sleep(d)
	return fmt.Sprint(i)
}

func handle(i int, room int) bool {
	answer := make(chan string, room)
	go func() { answer <- query(i, true) }()
	select {
	case <-answer:
		return true
	case <-time.After(20 * time.Millisecond):
		return false
	}
}

func main() {
	room := 0
	if os.Args[1] == "fixed" {
		room = 1
	}
	ok := 0
	for i := 0; i < 250; i++ {
		if handle(i, room) {
			ok++
		}
	}
	fmt.Println("ok", ok)
}
