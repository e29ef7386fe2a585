// Eight goroutines that look at a file thirty times, with a pause after each look that can be cancelled; and the same that wait for a
// result with a timeout instead, while another goroutine keeps a CPU busy.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
	"time"
)

const rounds = 30

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

func look(ctx context.Context, n int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		text, _ := os.ReadFile("/etc/hosts")
		sum += len(text)
		pause(ctx, time.Duration(25+2*n+i%5)*time.Millisecond)
	}
	return sum
}

func take(results chan int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		select {
		case one := <-results:
			sum += one
		case <-time.After(time.Minute):
		}
	}
	return sum
}

func compute(results chan int, count int) {
	block := make([]byte, 1<<20)
	for i := 0; i < count; i++ {
		for j := 0; j < 4; j++ {
			sum := sha256.Sum256(block)
			block[0] = sum[0]
		}
		results <- int(block[0])
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results := make(chan int)
	var all sync.WaitGroup
	sums := make([]int, 8)
	for n := range sums {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			if os.Args[1] == "fires" {
				sums[n] = look(ctx, n)
			} else {
				sums[n] = take(results)
			}
		}(n)
	}
	if os.Args[1] != "fires" {
		go compute(results, rounds*len(sums))
	}
	all.Wait()
	fmt.Println(sums)
}
