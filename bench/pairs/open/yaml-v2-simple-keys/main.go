package main

import (
	"log"
	"strings"

	"gopkg.in/yaml.v2"
)

func main() {
	var value interface{}
	row := "- " + strings.Repeat("[", 900) + strings.Repeat("]", 900) + "\n"
	if err := yaml.Unmarshal([]byte(strings.Repeat(row, 700)), &value); err != nil {
		log.Fatal(err)
	}
}
