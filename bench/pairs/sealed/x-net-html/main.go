package main

import (
	"log"
	"strings"

	"golang.org/x/net/html"
)

func main() {
	text := "<math><annotation-xml encoding=\"" + strings.Repeat("A", 100000) + "\">" + strings.Repeat("<mi></mi>", 4000)
	if _, err := html.Parse(strings.NewReader(text)); err != nil {
		log.Fatal(err)
	}
}
