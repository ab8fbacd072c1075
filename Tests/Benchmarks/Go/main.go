// Measures Go's net/http under the same load as Load: main URL WIDTH SECONDS [CA.pem]. Prints one line of JSON.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

type item struct {
	ID    int     `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

func usage() (cpu time.Duration, megabytes float64) {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), float64(usage.Maxrss) / 1024
}

func get(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var found item
	if err := json.Unmarshal(body, &found); err != nil {
		return err
	}
	if response.StatusCode != 200 || found.ID <= 0 {
		return fmt.Errorf("a wrong response: %d", response.StatusCode)
	}
	return nil
}

func main() {
	url := os.Args[1]
	width, _ := strconv.Atoi(os.Args[2])
	seconds, _ := strconv.ParseFloat(os.Args[3], 64)
	transport := &http.Transport{MaxConnsPerHost: 256, MaxIdleConnsPerHost: 256}
	if len(os.Args) > 4 {
		authorities, err := os.ReadFile(os.Args[4])
		if err != nil {
			panic(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(authorities)
		transport.ForceAttemptHTTP2 = true
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	client := &http.Client{Transport: transport}
	var units atomic.Int64
	for i := 0; i < width; i++ {
		go func() {
			for {
				if err := get(client, url); err != nil {
					panic(err)
				}
				units.Add(1)
			}
		}()
	}
	// As Load does: every task has run twice before.
	warmUp := time.Duration(seconds / 4 * float64(time.Second))
	if warmUp > time.Second/2 {
		warmUp = time.Second / 2
	}
	time.Sleep(warmUp)
	for units.Load() < int64(2*width) {
		time.Sleep(10 * time.Millisecond)
	}
	count, start := units.Load(), time.Now()
	before, _ := usage()
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	count = units.Load() - count
	elapsed := time.Since(start)
	after, megabytes := usage()
	fmt.Printf("{\"perSecond\": %.1f, \"cpuMicroseconds\": %.2f, \"peakMegabytes\": %.1f}\n", float64(count)/elapsed.Seconds(),
		float64((after-before).Microseconds())/float64(count), megabytes)
}
