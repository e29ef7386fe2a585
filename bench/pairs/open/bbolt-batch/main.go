package main

import (
	"fmt"
	"log"
	"os"
	"strconv"

	bolt "go.etcd.io/bbolt"
)

func store(db *bolt.DB, from, to int) {
	err := db.Update(func(tx *bolt.Tx) error {
		rows, err := tx.CreateBucketIfNotExists([]byte("rows"))
		if err != nil {
			return err
		}
		for n := from; n < to; n++ {
			if err := rows.Put([]byte(fmt.Sprintf("%08d", n)), []byte("a value")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	size, _ := strconv.Atoi(os.Args[1])
	db, err := bolt.Open("records.db", 0o600, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for n := 0; n < 2000; n += size {
		store(db, n, n+size)
	}
}
