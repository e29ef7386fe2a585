package main

import (
	"log"
	"os"

	"github.com/shirou/gopsutil/process"
)

func main() {
	for n := 0; n < 20000; n++ {
		one, err := process.NewProcess(int32(os.Getpid()))
		if err != nil {
			log.Fatal(err)
		}
		if _, err := one.CreateTime(); err != nil {
			log.Fatal(err)
		}
	}
}
