// A table that is appended to row by row with += (fires), or in a buffer (silent).
package main

import (
	"fmt"
	"os"
	"strings"
)

func appended(rows int) (table string) {
	for row := 0; row < rows; row++ {
		table += fmt.Sprintf("row %d of the table\n", row)
	}
	return table
}

func built(rows int) string {
	var table strings.Builder
	for row := 0; row < rows; row++ {
		fmt.Fprintf(&table, "row %d of the table\n", row)
	}
	return table.String()
}

func main() {
	if os.Args[1] == "fires" {
		fmt.Println(len(appended(20_000)))
	} else {
		fmt.Println(len(built(2_000_000)))
	}
}
