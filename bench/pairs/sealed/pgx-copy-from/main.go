// Puts 6,000 rows into PostgreSQL: with an INSERT for each, or with one COPY.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, fmt.Sprintf("host=127.0.0.1 port=%s user=postgres sslmode=disable", os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
	if _, err = db.Exec(ctx, "create table readings (n bigint, name text)"); err != nil {
		log.Fatal(err)
	}
	var rows [][]any
	for n := int64(0); n < 6000; n++ {
		rows = append(rows, []any{n, fmt.Sprintf("reading %d", n)})
	}
	if len(os.Args) > 1 {
		_, err = db.CopyFrom(ctx, pgx.Identifier{"readings"}, []string{"n", "name"}, pgx.CopyFromRows(rows))
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	for _, row := range rows {
		if _, err = db.Exec(ctx, "insert into readings (n, name) values ($1, $2)", row...); err != nil {
			log.Fatal(err)
		}
	}
}
