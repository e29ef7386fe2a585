// A web server and two clients in one process; the server computes for each answer.
package main

import (
	"io"
	"net"
	"net/http"
	"time"
)

var address string
var serving, asking = works("net/http.(*conn).serve"), worksAndParks("main.asker")

func answer(writer http.ResponseWriter, _ *http.Request) {
	mine := serving.own()
	mine.work(func() { compute(4 * time.Millisecond) })
	io.WriteString(writer, "done\n")
}

func asker() {
	defer all.Done()
	mine := asking.own()
	client := http.Client{Transport: &http.Transport{}}
	for i := 0; i < 150; i++ {
		mine.park(func() {
			answer, err := client.Get("http://" + address)
			if err != nil {
				panic(err)
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		})
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	address = listener.Addr().String()
	begin()
	go http.Serve(listener, http.HandlerFunc(answer))
	start(2, asker)
	finish()
}
