// Package child runs one informer in a process of its own and measures what it
// costs: peak memory cannot be told apart, nor the collector's work, where two
// share a process.
package child

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/kinformer/kinformer/bench/harness"
)

// Job is what a child is to do.
type Job struct {
	Side   string // one of Sides
	Server Server
	Pods   int // that it serves
	// Handlers is how many the informer has; zero: one.
	Handlers int
	Events   int // to be sent once the informer has synced; zero: none
	Stale    int // Pods to be changed while the watch is away; zero: no relist
}

// Server is where the Pods are. One over plain HTTP needs a URL alone, and has to be
// a podserver where a job asks for events or a relist.
type Server struct {
	URL    string
	CAFile string
	Token  string
}

// Cost is what it took.
type Cost struct {
	PeakRSS     float64 // bytes above those of the idle process, until synced
	SyncCPU     float64 // seconds, until synced
	SyncTime    float64 // seconds, until synced
	EventsCPU   float64 // seconds, for all events
	RelistCPU   float64 // seconds, from the end of the watch until all was told
	RelistTold  float64 // updates that the handler was told then
	RelistHeard string  // resourceVersion after the relist
}

// Arg is the first argument of a program that is to call Main.
const Arg = "child"

// Run does a job in a new process of this program.
func Run(ctx context.Context, job Job) (Cost, error) {
	self, err := os.Executable()
	if err != nil {
		return Cost{}, err
	}
	command := exec.CommandContext(ctx, self, Arg,
		"-side", job.Side, "-url", job.Server.URL, "-ca", job.Server.CAFile, "-token", job.Server.Token, "-pods", strconv.Itoa(job.Pods),
		"-handlers", strconv.Itoa(max(1, job.Handlers)), "-events", strconv.Itoa(job.Events), "-stale", strconv.Itoa(job.Stale))
	command.Env = append(os.Environ(), "KUBE_FEATURE_WatchListClient="+strconv.FormatBool(job.Side == ClientGoWatchList))
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return Cost{}, fmt.Errorf("%s in a process of its own: %w", job.Side, err)
	}
	var cost Cost
	return cost, json.Unmarshal(out, &cost)
}

// Main is the child: it does the job and writes what it cost.
func Main(args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == holdArg {
		return holdMain(args[1:], out)
	}
	var job Job
	flags := flag.NewFlagSet(Arg, flag.ContinueOnError)
	flags.StringVar(&job.Side, "side", "", "whose informer")
	flags.StringVar(&job.Server.URL, "url", "", "the server")
	flags.StringVar(&job.Server.CAFile, "ca", "", "file of the certificates that the server's is signed by, for HTTPS")
	flags.StringVar(&job.Server.Token, "token", "", "bearer token, if the server wants one")
	flags.IntVar(&job.Pods, "pods", 0, "how many Pods the server has")
	flags.IntVar(&job.Handlers, "handlers", 1, "how many handlers the informer has")
	flags.IntVar(&job.Events, "events", 0, "how many events to ask for")
	flags.IntVar(&job.Stale, "stale", 0, "how many Pods to change before a relist")
	profile := flags.String("cpuprofile", "", "write a CPU profile of the whole job to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	stop, err := harness.Profile(*profile)
	if err != nil {
		return err
	}
	cost, err := job.do(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(cost)
}

// do runs the informer and measures.
func (job Job) do(ctx context.Context) (cost Cost, err error) {
	start, ok := sides()[job.Side]
	if !ok {
		return cost, fmt.Errorf("there is no side %q", job.Side)
	}
	told := newTold(job.Pods, max(1, job.Handlers))
	inf, err := start(job.Server.config(), told)
	if err != nil {
		return cost, err
	}
	debug.FreeOSMemory()
	idle, err := memory("VmRSS")
	if err != nil {
		return cost, err
	}
	began, cpu := time.Now(), harness.CPU()
	stopped := inf.run(ctx)
	if err := until(ctx, func() bool { return inf.synced() && told.added() == job.Pods }); err != nil {
		return cost, fmt.Errorf("sync: %w, %d of %d Pods told", err, told.added(), job.Pods)
	}
	cost.SyncCPU, cost.SyncTime = (harness.CPU() - cpu).Seconds(), time.Since(began).Seconds()
	peak, err := memory("VmHWM")
	if err != nil {
		return cost, err
	}
	cost.PeakRSS = peak - idle
	err = errors.Join(job.events(ctx, told, &cost), job.relist(ctx, inf, told, &cost))
	inf.stop()
	<-stopped
	return cost, err
}

// events has events sent and waits until the handler was told of all.
func (job Job) events(ctx context.Context, told told, cost *Cost) error {
	if job.Events == 0 {
		return nil
	}
	before, cpu := told.updated(), harness.CPU()
	if _, err := job.ask(ctx, "update", job.Events); err != nil {
		return err
	}
	if err := until(ctx, func() bool { return told.updated()-before >= job.Events }); err != nil {
		return fmt.Errorf("events: %w, %d of %d told", err, told.updated()-before, job.Events)
	}
	cost.EventsCPU = (harness.CPU() - cpu).Seconds()
	return nil
}

// relist has the watch ended and waits until the informer is where the server is
// and tells nothing any more.
func (job Job) relist(ctx context.Context, inf informer, told told, cost *Cost) error {
	if job.Stale == 0 {
		return nil
	}
	before, cpu := told.updated(), harness.CPU()
	version, err := job.ask(ctx, "expire", job.Stale)
	if err != nil {
		return err
	}
	if err := until(ctx, func() bool { return inf.version() == version }); err != nil {
		return fmt.Errorf("relist: %w, at %s, want %s", err, inf.version(), version)
	}
	last := -1
	if err := every(ctx, 100*time.Millisecond, func() bool {
		now := told.updated()
		settled := now == last && now-before >= job.Stale
		last = now
		return settled
	}); err != nil {
		return fmt.Errorf("relist: %w, %d updates told", err, told.updated()-before)
	}
	cost.RelistCPU, cost.RelistTold, cost.RelistHeard = (harness.CPU() - cpu).Seconds(), float64(told.updated()-before), version
	return nil
}

// ask has the server do something, and returns the version that it reached.
func (job Job) ask(ctx context.Context, what string, count int) (string, error) {
	address := job.Server.URL + "/bench/" + what + "?" + url.Values{"count": {strconv.Itoa(count)}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", address, response.Status, body)
	}
	return string(body), err
}

// until waits for a condition, often enough not to matter.
func until(ctx context.Context, met func() bool) error { return every(ctx, 2*time.Millisecond, met) }

func every(ctx context.Context, period time.Duration, met func() bool) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for !met() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// memory returns a figure of this process from /proc, in bytes.
func memory(what string) (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, what+":"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", what)
}
