package main

import (
	"database/sql"
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql"
)

func main() {
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:18525)/?interpolateParams="+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for n := 0; n < 12000; n++ {
		var sum int
		if err := db.QueryRow("select ? + ?", n, 1).Scan(&sum); err != nil {
			log.Fatal(err)
		}
	}
}
