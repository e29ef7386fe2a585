// Slow functions of Go's library and what replaces them, measured as bench/faster.py does: `go run .`, or `go run . run NAME`.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	gojson "github.com/goccy/go-json"
	kgzip "github.com/klauspost/compress/gzip"
)

var kept any

type row struct {
	ID   int                `json:"id"`
	Name string             `json:"name"`
	Tags []string           `json:"tags"`
	At   map[string]float64 `json:"at"`
}

type form struct {
	slow   func()
	others []func()
}

func rows() []row {
	var all []row
	for n := range 1000 {
		all = append(all, row{n, fmt.Sprint("name-", n*37%1000), []string{"red", fmt.Sprint(n)}, map[string]float64{"x": float64(n) * 1.37, "y": 2}})
	}
	return all
}

// 200,000 numbers through two channels, one at a time.
func passed(buffered int) (sum int) {
	first, second := make(chan int, buffered), make(chan int, buffered)
	go func() {
		defer close(first)
		for n := range 200000 {
			first <- n
		}
	}()
	go func() {
		defer close(second)
		for n := range first {
			second <- n * n
		}
	}()
	for n := range second {
		sum += n
	}
	return sum
}

// The same, many at a time.
func passedInSlices() (sum int) {
	first, second := make(chan []int, 4), make(chan []int, 4)
	go func() {
		defer close(first)
		for n := 0; n < 200000; n += 500 {
			some := make([]int, 500)
			for at := range some {
				some[at] = n + at
			}
			first <- some
		}
	}()
	go func() {
		defer close(second)
		for some := range first {
			for at, n := range some {
				some[at] = n * n
			}
			second <- some
		}
	}()
	for some := range second {
		for _, n := range some {
			sum += n
		}
	}
	return sum
}

func forms() ([]string, map[string]form) {
	all := rows()
	text, _ := json.Marshal(all)
	var numbers strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&numbers, "%d ", n*37)
	}
	big := bytes.Repeat(text, 8)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(big)
	w.Close()
	var ints, same []int
	for range 1000 {
		ints = append(ints, rand.Int())
	}
	same = slices.Clone(ints)
	headers := make([]struct {
		A, B uint32
		C    uint64
	}, 1000)
	words := make([]string, 2000)
	for n := range words {
		words[n] = fmt.Sprint("name-", n*37%2000)
	}
	copied := slices.Clone(words)
	list, _ := json.Marshal(words)
	var log bytes.Buffer
	for n := range 20000 {
		fmt.Fprintf(&log, "2026-11-29T10:%02d:%02d host%d GET /items/%d 200 %x\n", n/60%60, n%60, n%7, n*37%1000, rand.Int63())
	}
	var read bytes.Buffer
	for _, h := range headers {
		binary.Write(&read, binary.LittleEndian, h)
	}
	each := map[string]form{
		"sprintf_floats": {func() {
			for n := range 2000 {
				kept = len(fmt.Sprintf("%s %.2f %d", "name", float64(n)*1.37, n))
			}
		}, []func(){func() {
			var to []byte
			for n := range 2000 {
				to = append(to[:0], "name "...)
				to = strconv.AppendFloat(to, float64(n)*1.37, 'f', 2, 64)
				to = append(to, ' ')
				to = strconv.AppendInt(to, int64(n), 10)
				kept = len(string(to))
			}
		}}},
		"channels":         {func() { kept = passed(0) }, []func(){func() { kept = passed(1024) }, func() { kept = passedInSlices() }}},
		"json_read_any":    {func() { var to any; json.Unmarshal(text, &to) }, []func(){func() { var to any; gojson.Unmarshal(text, &to) }}},
		"json_read_words":  {func() { var to []string; json.Unmarshal(list, &to) }, []func(){func() { var to []string; gojson.Unmarshal(list, &to) }}},
		"json_write_words": {func() { kept, _ = json.Marshal(words) }, []func(){func() { kept, _ = gojson.Marshal(words) }}},
		"deep_equal_rows":  {func() { kept = reflect.DeepEqual(words, copied) }, []func(){func() { kept = slices.Equal(words, copied) }}},
		"sort_rows": {func() {
			to := slices.Clone(all)
			sort.Slice(to, func(a, b int) bool { return to[a].Name < to[b].Name })
		},
			[]func(){func() {
				to := slices.Clone(all)
				slices.SortFunc(to, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
			}}},
		"binary_read": {func() {
			from := bytes.NewReader(read.Bytes())
			for range headers {
				binary.Read(from, binary.LittleEndian, &headers[0])
			}
		}, []func(){func() {
			from := read.Bytes()
			for range headers {
				headers[0].A, headers[0].B, headers[0].C = binary.LittleEndian.Uint32(from), binary.LittleEndian.Uint32(from[4:]), binary.LittleEndian.Uint64(from[8:])
				from = from[16:]
			}
		}}},
		"gzip_log": {func() {
			w := gzip.NewWriter(io.Discard)
			w.Write(log.Bytes())
			w.Close()
		}, []func(){func() {
			w := kgzip.NewWriter(io.Discard)
			w.Write(log.Bytes())
			w.Close()
		}}},
		"sprintf": {func() {
			for n := range 2000 {
				kept = len(fmt.Sprintf("%d:%s", n, "name"))
			}
		}, []func(){func() {
			for n := range 2000 {
				kept = len(strconv.Itoa(n) + ":" + "name")
			}
		}}},
		"json_read":  {func() { var to []row; json.Unmarshal(text, &to) }, []func(){func() { var to []row; gojson.Unmarshal(text, &to) }}},
		"json_write": {func() { kept, _ = json.Marshal(all) }, []func(){func() { kept, _ = gojson.Marshal(all) }}},
		"deep_equal": {func() { kept = reflect.DeepEqual(ints, same) }, []func(){func() { kept = slices.Equal(ints, same) }}},
		"sort_slice": {func() { to := slices.Clone(ints); sort.Slice(to, func(a, b int) bool { return to[a] < to[b] }) },
			[]func(){func() { to := slices.Clone(ints); slices.Sort(to) }}},
		"fscan": {func() {
			reader, sum, n := strings.NewReader(numbers.String()), 0, 0
			for {
				if _, err := fmt.Fscan(reader, &n); err != nil {
					break
				}
				sum += n
			}
			kept = sum
		}, []func(){func() {
			words, sum := bufio.NewScanner(strings.NewReader(numbers.String())), 0
			words.Split(bufio.ScanWords)
			for words.Scan() {
				n, _ := strconv.Atoi(words.Text())
				sum += n
			}
			kept = sum
		}}},
		"gzip": {func() {
			var to bytes.Buffer
			w := gzip.NewWriter(&to)
			w.Write(big)
			w.Close()
		}, []func(){func() {
			var to bytes.Buffer
			w := kgzip.NewWriter(&to)
			w.Write(big)
			w.Close()
		}}},
		"gunzip": {func() { r, _ := gzip.NewReader(bytes.NewReader(packed.Bytes())); var to bytes.Buffer; to.ReadFrom(r) },
			[]func(){func() { r, _ := kgzip.NewReader(bytes.NewReader(packed.Bytes())); var to bytes.Buffer; to.ReadFrom(r) }}},
		"binary_write": {func() {
			var to bytes.Buffer
			for _, h := range headers {
				binary.Write(&to, binary.LittleEndian, h)
			}
		}, []func(){func() {
			var to []byte
			for _, h := range headers {
				to = binary.LittleEndian.AppendUint32(to, h.A)
				to = binary.LittleEndian.AppendUint32(to, h.B)
				to = binary.LittleEndian.AppendUint64(to, h.C)
			}
			kept = to
		}}},
		"regexp_once": {func() { kept = regexp.MustCompile(`(\d+)-([a-z]+)@(\w+)\.com`) }, nil},
	}
	var names []string
	for name := range each {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, each
}

func seconds(do func()) float64 {
	began := time.Now()
	do()
	return time.Since(began).Seconds()
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

func main() {
	names, each := forms()
	if len(os.Args) == 3 {
		for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
			each[os.Args[2]].slow()
		}
		return
	}
	for _, name := range names {
		f := each[name]
		if f.others == nil {
			var one []float64
			for range 1001 {
				one = append(one, seconds(f.slow))
			}
			fmt.Printf("%-28s one takes %.4f ms\n", name, median(one)*1e3)
			continue
		}
		for _, other := range f.others {
			var ratios []float64
			for range 21 {
				ratios = append(ratios, seconds(f.slow)/seconds(other))
			}
			fmt.Printf("%-28s %8.2f\n", name, median(ratios))
		}
	}
}
