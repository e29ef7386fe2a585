// Writes a line to a log as soon as the line before has been seen by its follower, ten times.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nxadm/tail"
	"github.com/nxadm/tail/watch"
)

func main() {
	if len(os.Args) > 1 {
		watch.POLL_DURATION, _ = time.ParseDuration(os.Args[1])
	}
	file, err := os.Create("app.log")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(file, "line 0")
	follower, err := tail.TailFile("app.log", tail.Config{Follow: true, Poll: true, Logger: tail.DiscardingLogger})
	if err != nil {
		log.Fatal(err)
	}
	<-follower.Lines
	for n := 1; n <= 10; n++ {
		fmt.Fprintln(file, "line", n)
		<-follower.Lines
	}
}
