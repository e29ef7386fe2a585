// Asks PostgreSQL sixteen questions at a time, thirty times, through one database/sql pool.
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"

	_ "github.com/lib/pq"
)

func main() {
	db, err := sql.Open("postgres", fmt.Sprintf("host=127.0.0.1 port=%s user=postgres sslmode=disable", os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 1 {
		kept, _ := strconv.Atoi(os.Args[1])
		db.SetMaxIdleConns(kept)
	}
	for round := 0; round < 30; round++ {
		var all sync.WaitGroup
		for n := 0; n < 16; n++ {
			all.Add(1)
			go func() {
				defer all.Done()
				var answer int
				if err := db.QueryRow("select 1 from pg_sleep(0.005)").Scan(&answer); err != nil {
					log.Fatal(err)
				}
			}()
		}
		all.Wait()
	}
}
