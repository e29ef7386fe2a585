// A server that refuses the first two tries of each request, and a client that tries again.
package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

func main() {
	wait, _ := time.ParseDuration(os.Args[1])
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		if tries++; tries%3 != 0 {
			answer.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	client := retryablehttp.NewClient()
	client.Logger = nil
	client.RetryWaitMin = wait
	for n := 0; n < 2; n++ {
		response, err := client.Get(server.URL)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
