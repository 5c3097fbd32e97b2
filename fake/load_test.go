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
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kinformer/kinformer/fake"
)

// What is asked of the server is -load=60s; without the flag the test is shorter.
var loadFor = flag.Duration("load", 4*time.Second, "how long TestLoad lasts")

const (
	loadWatchers  = 1000
	loadPerSecond = 100
	loadHistory   = 500 // changes: a watcher may fall behind by so many
	loadSize      = 1000
	// heapGrowth is by how much the heap may grow after the first quarter, by when every buffer there is has been used.
	heapGrowth = 16 << 20
)

// A thousand watchers see every one of a hundred writes a second, in order, and memory stays what it was: a watcher that does not read is not
// buffered for, but gets a 410 when it does.
func TestLoad(t *testing.T) {
	watchers := loadWatchers
	if raceDetector {
		watchers = loadWatchers / 10
	}
	server := startServer(t, fake.APIServerOptions{HistoryLimit: loadHistory, WriteTimeout: time.Hour})
	stuck := openUnread(t, server)
	crowd := newCrowd(t, server, watchers)

	filler := strings.Repeat("x", loadSize)
	begin, cpu, heap := time.Now(), cpuTime(t), uint64(0)
	tick := time.NewTicker(time.Second / loadPerSecond)
	defer tick.Stop()
	writes := 0
	for time.Since(begin) < *loadFor {
		<-tick.C
		// Where the machine cannot keep up, or stood still, there are less: whoever falls behind further than the history reaches gets a 410.
		for due := int(time.Since(begin).Seconds() * loadPerSecond); writes < due && writes < crowd.slowest()+loadHistory/2; writes++ {
			write(t, server, writes, filler, crowd.begin)
		}
		if heap == 0 && time.Since(begin) > *loadFor/4 {
			heap = heapInUse()
		}
	}
	grown := heapInUse()
	must(t, server.Create(pod("last")))
	crowd.done.Wait()
	seconds := time.Since(begin).Seconds()
	t.Logf("%d watchers, %.1f s: %d writes (%.0f/s), %d events (%.0f/s), slowest event after %v, CPU %.2f cores, heap %d KB a quarter in, %d KB at the end",
		watchers, seconds, writes, float64(writes)/seconds, crowd.events.Load(), float64(crowd.events.Load())/seconds,
		time.Duration(crowd.latest.Load()).Round(time.Millisecond), (cpuTime(t)-cpu).Seconds()/seconds, heap>>10, grown>>10)
	if want := int64(watchers * (writes + 1)); crowd.events.Load() != want {
		t.Errorf("%d events arrived, want %d", crowd.events.Load(), want)
	}
	if grown > heap+heapGrowth {
		t.Errorf("the heap has grown from %d KB to %d KB", heap>>10, grown>>10)
	}
	leaveBehind(t, server)
	expectExpired(t, stuck)
}

// openUnread opens a watch of which nothing but the beginning is read.
func openUnread(t *testing.T, server *fake.APIServer) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprint(conn, "GET /api/v1/pods?watch=true&resourceVersion=1 HTTP/1.0\r\n\r\n")
	must(t, err)
	body := bufio.NewReader(conn)
	_, err = body.ReadString('\n')
	must(t, err)
	return body
}

// write creates one of a thousand Pods, or updates it when its turn comes again, and says in it when that was.
func write(t *testing.T, server *fake.APIServer, n int, filler string, begin time.Time) {
	t.Helper()
	p := pod(fmt.Sprint("pod-", n%1000))
	p.Annotations = map[string]string{"at": fmt.Sprint(time.Since(begin).Nanoseconds()), "filler": filler}
	if n < 1000 {
		must(t, server.Create(p))
	} else {
		must(t, server.Update(p))
	}
}

// leaveBehind fills the buffers of a connection that nobody reads, and then writes more than the history holds.
func leaveBehind(t *testing.T, server *fake.APIServer) {
	t.Helper()
	writeMuch(t, server)
	p := pod("pod-1")
	must(t, server.Get(p))
	for n := range 2 * loadHistory {
		p.Annotations["n"] = fmt.Sprint("more ", n)
		must(t, server.Update(p))
	}
}

// expectExpired reads a watch to its end, which must be a 410.
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
		t.Errorf("the watcher that did not read got %.200q at the end, want a 410", last)
	}
}

// crowd is many watchers of all Pods, which check that no version is missing.
type crowd struct {
	t      *testing.T
	done   sync.WaitGroup
	begin  time.Time
	events atomic.Int64
	each   []atomic.Int64 // events of each watcher
	latest atomic.Int64   // nanoseconds from a write to its arrival
}

func newCrowd(t *testing.T, server *fake.APIServer, watchers int) *crowd {
	t.Helper()
	c := &crowd{t: t, begin: time.Now(), each: make([]atomic.Int64, watchers)}
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
		c.done.Go(func() { c.watch(resp.Body, first, &c.each[i]) })
	}
	return c
}

// slowest is how many events the watcher has seen that has seen the least.
func (c *crowd) slowest() int {
	least := c.each[0].Load()
	for i := range c.each {
		least = min(least, c.each[i].Load())
	}
	return int(least)
}

var versionField = []byte(`"resourceVersion":"`)

// watch reads events until that of the Pod named last.
func (c *crowd) watch(body io.ReadCloser, version int, events *atomic.Int64) {
	defer body.Close()
	lines := bufio.NewReaderSize(body, 8<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			c.t.Errorf("a watch ended at version %d: %v", version, err)
			return
		}
		_, rest, found := bytes.Cut(line, versionField)
		digits, _, _ := bytes.Cut(rest, []byte(`"`))
		got, err := strconv.Atoi(string(digits))
		version++
		if !found || err != nil || got != version {
			c.t.Errorf("a watcher got %.100q, want version %d", line, version)
			return
		}
		c.events.Add(1)
		events.Add(1)
		c.arrived(line)
		if bytes.Contains(line, []byte(`"name":"last"`)) {
			return
		}
	}
}

// arrived measures how long an event took that says when it was written.
func (c *crowd) arrived(line []byte) {
	_, rest, _ := bytes.Cut(line, []byte(`"at":"`))
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	at, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return
	}
	took := time.Since(c.begin).Nanoseconds() - at
	for old := c.latest.Load(); took > old && !c.latest.CompareAndSwap(old, took); old = c.latest.Load() {
	}
}

// heapInUse is what lives, after a collection.
func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// cpuTime is what this process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
