// Answers with a list as JSON, encoded anew for each request.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
)

type item struct {
	Name  string
	Price float64
	Tags  []string
}

func list() []item {
	items := make([]item, 500)
	for i := range items {
		items[i] = item{"item", float64(i) * 1.25, []string{"a", "b", "c"}}
	}
	return items
}

func main() {
	items := list()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewEncoder(w).Encode(items); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
