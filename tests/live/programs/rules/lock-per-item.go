// Goroutines that count words: in a map under a lock for each word (fires), or each in its own (silent).
package main

import (
	"fmt"
	"os"
	"sync"
)

var (
	lock   sync.Mutex
	counts = map[string]int{}
)

func add(word string) {
	lock.Lock()
	counts[word]++
	lock.Unlock()
}

func count(words []string, first, times int, each bool) {
	own := map[string]int{}
	for i := 0; i < times; i++ {
		word := words[(i*31+first)%len(words)]
		if each {
			add(word)
		} else {
			own[word]++
		}
	}
	lock.Lock()
	defer lock.Unlock()
	for word, number := range own {
		counts[word] += number
	}
}

func main() {
	words := make([]string, 500)
	for i := range words {
		words[i] = fmt.Sprint("word", i)
	}
	each := os.Args[1] == "fires"
	times := 20_000_000
	if each {
		times = 4_000_000
	}
	var all sync.WaitGroup
	for first := 0; first < 4; first++ {
		all.Add(1)
		go func(first int) {
			defer all.Done()
			count(words, first, times, each)
		}(first)
	}
	all.Wait()
	fmt.Println(len(counts))
}
