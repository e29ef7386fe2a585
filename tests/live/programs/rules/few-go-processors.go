// Goroutines that compute: on one of Go's processors (fires), or on as many as there are CPUs (silent).
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"sync"
)

func hashed(seed byte) [32]byte {
	sum := sha256.Sum256([]byte{seed})
	for n := 0; n < 400_000; n++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}

func main() {
	if os.Args[1] == "fires" {
		runtime.GOMAXPROCS(1)
	}
	var all sync.WaitGroup
	sums := make([][32]byte, 12)
	for n := range sums {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			sums[n] = hashed(byte(n))
		}(n)
	}
	all.Wait()
	fmt.Println(sums[3][0])
}
