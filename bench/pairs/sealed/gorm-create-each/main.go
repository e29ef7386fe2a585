// Puts 1,500 orders into a database file: each with its own Create, or in batches of 100.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

type Order struct {
	ID       uint
	Customer string
	Amount   int
}

func main() {
	db, err := gorm.Open(sqlite.Open("orders.db"), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Order{}); err != nil {
		log.Fatal(err)
	}
	var orders []Order
	for n := 0; n < 1500; n++ {
		orders = append(orders, Order{Customer: fmt.Sprintf("customer %d", n%50), Amount: n})
	}
	if len(os.Args) > 1 {
		if err := db.CreateInBatches(orders, 100).Error; err != nil {
			log.Fatal(err)
		}
		return
	}
	for n := range orders {
		if err := db.Create(&orders[n]).Error; err != nil {
			log.Fatal(err)
		}
	}
}
