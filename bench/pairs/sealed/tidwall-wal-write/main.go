// Appends 6,000 entries to a write-ahead log: one by one, or as one batch.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/tidwall/wal"
)

func main() {
	journal, err := wal.Open("journal", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer journal.Close()
	batch := new(wal.Batch)
	for n := uint64(1); n <= 6000; n++ {
		entry := []byte(fmt.Sprintf("entry %d of the journal", n))
		if len(os.Args) > 1 {
			batch.Write(n, entry)
		} else if err := journal.Write(n, entry); err != nil {
			log.Fatal(err)
		}
	}
	if err := journal.WriteBatch(batch); err != nil {
		log.Fatal(err)
	}
}
