// Fetches a page 80 times from a server that closes each connection; the name server is on loopback, too.
package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/rs/dnscache"
)

func main() {
	port := os.Getenv("PORT")
	names := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, "127.0.0.1:"+port)
	}}
	transport := &http.Transport{DialContext: (&net.Dialer{Resolver: names}).DialContext}
	if os.Args[1] == "cached" {
		cache := &dnscache.Resolver{Resolver: names}
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			found, err := cache.LookupHost(ctx, host)
			if err != nil {
				return nil, err
			}
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, net.JoinHostPort(found[0], port))
		}
	}
	client := &http.Client{Transport: transport}
	for n := 0; n < 80; n++ {
		answer, err := client.Get("http://api.pair.test:" + port + "/")
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}
