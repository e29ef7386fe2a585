// A service of goroutines: it answers requests from blocks that it keeps, and a scrub looks meanwhile whether they are still
// whole.
//
//	service locked|copied REQUESTS
//
// locked: the scrub checks a block a byte at a time, with the lock of the store held. copied: it takes a copy under the lock, and
// the library, which has the processor's instruction, checks that.
package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
)

const (
	clients = 8
	blocks  = 16
	length  = 4 << 20
)

type store struct {
	lock   sync.Mutex
	blocks [blocks][]byte
	sums   [blocks]uint32
}

var table = crc32.MakeTable(crc32.Castagnoli)

func newStore() *store {
	kept := &store{}
	for number := range kept.blocks {
		block := make([]byte, length)
		for at := range block {
			block[at] = byte(at * (number + 3) >> 5)
		}
		kept.blocks[number], kept.sums[number] = block, crc32.Checksum(block, table)
	}
	return kept
}

//go:noinline
func crcByTable(block []byte) uint32 {
	crc := ^uint32(0)
	for _, one := range block {
		crc = crc>>8 ^ table[byte(crc)^one]
	}
	return ^crc
}

func (kept *store) checkLocked(number int) bool {
	kept.lock.Lock()
	defer kept.lock.Unlock()
	return crcByTable(kept.blocks[number]) == kept.sums[number]
}

func (kept *store) checkCopied(number int, room []byte) bool {
	kept.lock.Lock()
	copy(room, kept.blocks[number])
	sum := kept.sums[number]
	kept.lock.Unlock()
	return crc32.Checksum(room, table) == sum
}

func (kept *store) scrub(copied bool) {
	room := make([]byte, length)
	for checked := 0; ; checked++ {
		number := checked % blocks
		whole := copied && kept.checkCopied(number, room) || !copied && kept.checkLocked(number)
		if !whole {
			panic("a block is damaged")
		}
		time.Sleep(time.Millisecond)
	}
}

func (kept *store) answer(number int) uint32 {
	time.Sleep(time.Millisecond) // another service is asked
	kept.lock.Lock()
	defer kept.lock.Unlock()
	row := kept.blocks[number%blocks][number%1000*64:][:64]
	return crc32.Checksum(row, table)
}

func (kept *store) client(requests int, took chan<- time.Duration) {
	for number := 0; number < requests; number++ {
		began := time.Now()
		kept.answer(number)
		took <- time.Since(began)
	}
}

func main() {
	kept := newStore()
	requests, err := strconv.Atoi(os.Args[2])
	if err != nil || requests < clients {
		fmt.Fprintln(os.Stderr, "usage: service locked|copied REQUESTS")
		os.Exit(2)
	}
	took := make(chan time.Duration, requests)
	go kept.scrub(os.Args[1] == "copied")
	var all sync.WaitGroup
	for n := 0; n < clients; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			kept.client(requests/clients, took)
		}()
	}
	all.Wait()
	close(took)
	var times []time.Duration
	for one := range took {
		times = append(times, one)
	}
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	fmt.Printf("%d requests, p50 %v, p99 %v\n", len(times), times[len(times)/2], times[len(times)*99/100])
}
