package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
)

// A broker of Kafka's protocol with one topic, for the writer to talk to.
func serve(port int) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.SeedTopics(1, "orders"))
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	select {}
}

// Tells of each order as it is taken. Without a BatchTimeout the writer has its own.
func publish(address string, batchTimeout time.Duration) {
	writer := &kafka.Writer{Addr: kafka.TCP(address), Topic: "orders", BatchTimeout: batchTimeout}
	for order := 0; order < 4; order++ {
		message := kafka.Message{Key: []byte(strconv.Itoa(order)), Value: []byte(fmt.Sprintf("order %d was taken", order))}
		if err := writer.WriteMessages(context.Background(), message); err != nil {
			log.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		log.Fatal(err)
	}
}

func main() {
	port, err := strconv.Atoi(os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serve(port)
	}
	var batchTimeout time.Duration
	if len(os.Args) > 1 {
		if batchTimeout, err = time.ParseDuration(os.Args[1]); err != nil {
			log.Fatal(err)
		}
	}
	publish(fmt.Sprintf("127.0.0.1:%d", port), batchTimeout)
}
