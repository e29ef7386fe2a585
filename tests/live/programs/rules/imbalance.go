// Two goroutines share a work: nine tenths and one tenth of it (fires), or half each (silent).
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
)

func part(seed byte) byte {
	sum := sha256.Sum256([]byte{seed})
	for n := 0; n < 20_000; n++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum[0]
}

func work(parts int, sum *byte, done *sync.WaitGroup) {
	for n := 0; n < parts; n++ {
		*sum += part(byte(n))
	}
	done.Done()
}

func main() {
	parts := [2]int{120, 120}
	if os.Args[1] == "fires" {
		parts = [2]int{216, 24}
	}
	var sums [2]byte
	var done sync.WaitGroup
	done.Add(len(parts))
	for n := range parts {
		go work(parts[n], &sums[n], &done)
	}
	done.Wait()
	fmt.Println(sums[0] + sums[1])
}
