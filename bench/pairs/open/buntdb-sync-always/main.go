package main

import (
	"fmt"
	"log"
	"os"

	"github.com/tidwall/buntdb"
)

func main() {
	db, err := buntdb.Open("data.db")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if len(os.Args) > 1 {
		err = db.SetConfig(buntdb.Config{SyncPolicy: buntdb.Always, AutoShrinkPercentage: 100, AutoShrinkMinSize: 1 << 30})
		if err != nil {
			log.Fatal(err)
		}
	}
	for n := 0; n < 5000; n++ {
		err = db.Update(func(tx *buntdb.Tx) error {
			_, _, err := tx.Set(fmt.Sprintf("key %d", n), "a value", nil)
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
}
