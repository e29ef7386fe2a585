package main

import (
	"strings"

	"golang.org/x/text/language"
)

func main() {
	for n := 0; n < 8; n++ {
		language.ParseAcceptLanguage("en" + strings.Repeat("-aaaaaaaaaa", 40000))
	}
}
