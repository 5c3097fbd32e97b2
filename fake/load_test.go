// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/process"
)

var loadFor = flag.Duration("load", loadDuration, "duration of TestLoad")

const (
	loadPerSecond = 100 // writes
	loadSize      = 1000
	// heapGrowth bounds the growth of the heap after the first quarter, in bytes. By then, all
	// buffers have been used.
	heapGrowth = 16 << 20
)

// All watchers receive every write, in order, at 100 writes per second, and memory stays bounded:
// the server does not buffer for a watcher that does not read, which gets a 410 when it reads
// again.
func TestLoad(t *testing.T) {
	watchers := loadWatchers
	if raceDetector {
		watchers = max(watchers/10, 20)
	}
	server := startServer(t, fake.APIServerOptions{HistoryLimit: loadHistory, WriteTimeout: time.Hour})
	conn, unread := openRaw(t, server)
	_, err := unread.ReadString('\n') // the watch is open
	must(t, err)
	l := newLoad(t, server, watchers)

	filler := strings.Repeat("x", loadSize)
	start, cpu, heap := time.Now(), process.CPU(), 0.0
	tick := time.NewTicker(time.Second / loadPerSecond)
	defer tick.Stop()
	writes := 0
	for heap == 0 || time.Since(start) < *loadFor {
		<-tick.C
		// On a slow machine, write less: a watcher that falls behind by more than the history gets
		// 410.
		for due := int(time.Since(start).Seconds() * loadPerSecond); writes < due && writes < l.slowest()+loadHistory/2; writes++ {
			write(t, server, writes, filler, l.start)
		}
		if heap == 0 && time.Since(start) > *loadFor/4 {
			heap = process.LiveHeap()
		}
	}
	heapAtEnd := process.LiveHeap()
	must(t, server.Create(pod("last")))
	l.done.Wait()
	seconds := time.Since(start).Seconds()
	t.Logf("%d watchers, %.1f s: %d writes (%.0f/s), %d events (%.0f/s), maximum latency %v, CPU %.2f cores, heap %.0f KB after a quarter, %.0f KB at the end",
		watchers, seconds, writes, float64(writes)/seconds, l.events.Load(), float64(l.events.Load())/seconds,
		time.Duration(l.maxLatency.Load()).Round(time.Millisecond), (process.CPU()-cpu).Seconds()/seconds, heap/1024, heapAtEnd/1024)
	if want := int64(watchers * (writes + 1)); l.events.Load() != want {
		t.Errorf("watchers received %d events, want %d", l.events.Load(), want)
	}
	if heapAtEnd > heap+heapGrowth {
		t.Errorf("heap grew from %.0f KB to %.0f KB", heap/1024, heapAtEnd/1024)
	}
	exceedHistory(t, server)
	must(t, conn.(*net.TCPConn).SetReadBuffer(1<<20)) // read the rest faster
	expectExpired(t, unread)
}

// write creates or updates one of 1,000 Pods in turn, with the time since start in an annotation.
func write(t *testing.T, server *fake.APIServer, n int, filler string, start time.Time) {
	t.Helper()
	p := pod(fmt.Sprint("pod-", n%1000))
	p.Annotations = map[string]string{"at": fmt.Sprint(time.Since(start).Nanoseconds()), "filler": filler}
	if n < 1000 {
		must(t, server.Create(p))
	} else {
		must(t, server.Update(p))
	}
}

// exceedHistory fills the buffers of unread connections and then writes more than the history
// holds.
func exceedHistory(t *testing.T, server *fake.APIServer) {
	t.Helper()
	overflow(t, server)
	p := pod("pod-1")
	must(t, server.Get(p))
	for n := range 2 * loadHistory {
		p.Annotations["n"] = fmt.Sprint("more ", n)
		must(t, server.Update(p))
	}
}

// expectExpired reads a watch to its end and requires a 410 as its last event.
func expectExpired(t *testing.T, body *bufio.Reader) {
	t.Helper()
	last := ""
	for {
		line, err := body.ReadString('\n')
		if err != nil {
			break
		}
		last = line
	}
	if !strings.Contains(last, `"code":410`) {
		t.Errorf("unread watch ended with %.200q, want a 410", last)
	}
}

// load is a set of watchers of all Pods. Each requires consecutive resourceVersions.
type load struct {
	t          *testing.T
	done       sync.WaitGroup
	start      time.Time
	events     atomic.Int64
	perWatcher []atomic.Int64 // events
	maxLatency atomic.Int64   // nanoseconds from write to receipt
}

func newLoad(t *testing.T, server *fake.APIServer, watchers int) *load {
	t.Helper()
	l := &load{t: t, start: time.Now(), perWatcher: make([]atomic.Int64, watchers)}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, ReadBufferSize: 8 << 10}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	first, err := strconv.Atoi(server.ResourceVersion())
	must(t, err)
	for i := range watchers {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/pods?watch=true&resourceVersion=%d", server.URL(), first), nil)
		must(t, err)
		resp, err := transport.RoundTrip(req)
		must(t, err)
		l.done.Go(func() { l.watch(resp.Body, first, &l.perWatcher[i]) })
	}
	return l
}

// slowest returns the number of events received by the slowest watcher.
func (l *load) slowest() int {
	least := l.perWatcher[0].Load()
	for i := range l.perWatcher {
		least = min(least, l.perWatcher[i].Load())
	}
	return int(least)
}

var versionField = []byte(`"resourceVersion":"`)

// watch reads events up to that of the Pod named last.
func (l *load) watch(body io.ReadCloser, version int, events *atomic.Int64) {
	defer body.Close()
	lines := bufio.NewReaderSize(body, 8<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			l.t.Errorf("watch ended after version %d: %v", version, err)
			return
		}
		_, rest, found := bytes.Cut(line, versionField)
		digits, _, _ := bytes.Cut(rest, []byte(`"`))
		got, err := strconv.Atoi(string(digits))
		version++
		if !found || err != nil || got != version {
			l.t.Errorf("watch received %.100q, want version %d", line, version)
			return
		}
		l.events.Add(1)
		events.Add(1)
		l.recordLatency(line)
		if bytes.Contains(line, []byte(`"name":"last"`)) {
			return
		}
	}
}

// recordLatency raises maxLatency to the time since the write of an event.
func (l *load) recordLatency(line []byte) {
	_, rest, _ := bytes.Cut(line, []byte(`"at":"`))
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	at, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return
	}
	latency := time.Since(l.start).Nanoseconds() - at
	for old := l.maxLatency.Load(); latency > old && !l.maxLatency.CompareAndSwap(old, latency); old = l.maxLatency.Load() {
	}
}
