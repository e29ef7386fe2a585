// Thirty pages are fetched and read, one after the other or each in a goroutine; `serve` answers each request after 20 ms.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

func read(page []byte) int {
	sum := len(page)
	for number := 0; number < 1000000; number++ {
		sum += number * number
	}
	return sum
}

func fetch(port string, number int) int {
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%s/%d", port, number))
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(err)
	}
	return read(page)
}

func oneByOne(port string) {
	for number := 0; number < 30; number++ {
		fetch(port, number)
	}
}

func together(port string) {
	var all sync.WaitGroup
	for number := 0; number < 30; number++ {
		all.Go(func() { fetch(port, number) })
	}
	all.Wait()
}

func serve(port string) {
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		time.Sleep(20 * time.Millisecond)
		fmt.Fprintln(answer, request.URL.Path)
	})
	panic(http.ListenAndServe("127.0.0.1:"+port, nil))
}

func main() {
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2])
	case "slow":
		oneByOne(os.Args[2])
	default:
		together(os.Args[2])
	}
}
