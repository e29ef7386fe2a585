package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func ask(read bool) {
	response, err := http.Get("http://127.0.0.1:18500/")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if read {
		io.Copy(io.Discard, response.Body)
	}
}

func main() {
	for n := 0; n < 8000; n++ {
		ask(len(os.Args) > 1)
	}
}
