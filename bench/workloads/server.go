// A server of a small page that counts its requests: server PORT.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
)

func main() {
	page := strings.Repeat("x", 2700)
	var requests atomic.Int64
	http.HandleFunc("/requests", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, requests.Load()) })
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, page)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
