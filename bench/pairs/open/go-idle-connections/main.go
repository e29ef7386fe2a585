package main

import (
	"database/sql"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	_ "github.com/lib/pq"
)

func ask(db *sql.DB, queries int) {
	var one int
	for n := 0; n < queries; n++ {
		if err := db.QueryRow("select 1").Scan(&one); err != nil {
			log.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func main() {
	idle, _ := strconv.Atoi(os.Args[1])
	db, err := sql.Open("postgres", "host=127.0.0.1 port=18524 user=postgres sslmode=disable")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(idle)
	var group sync.WaitGroup
	for n := 0; n < 16; n++ {
		group.Add(1)
		go func() {
			defer group.Done()
			ask(db, 100)
		}()
	}
	group.Wait()
}
