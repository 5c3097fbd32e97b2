// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/served"
)

// servedHarness is a server of a resource that comes and goes, and logs what a reflector does and
// when.
type servedHarness struct {
	resource *served.Resource
	start    time.Time
	status   func() Status

	mu      sync.Mutex // guards the fields below
	answer  string     // of requests; see errorOf
	version int        // of lists
	watches chan error // ends the watch with an error
	log     []string

	listTimes, times []float64 // of lists, and of all requests, in seconds since the start
}

// errorOf returns the error of an answer, nil for "ok".
func errorOf(answer string) error {
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	switch answer {
	case "404":
		return apierrors.NewGenericServerResponse(http.StatusNotFound, "list", widgets, "", "", 0, true)
	case "403":
		return apierrors.NewForbidden(widgets, "", errors.New("no"))
	case "503":
		return apierrors.NewServiceUnavailable("no endpoints")
	case "410":
		return apierrors.NewResourceExpired("too old")
	case "wait":
		return apierrors.NewTooManyRequests("busy", 30)
	}
	return nil
}

func (h *servedHarness) record(format string, args ...any) {
	entry := fmt.Sprintf("%v %s", time.Since(h.start).Round(100*time.Millisecond), fmt.Sprintf(format, args...))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, entry)
}

func (h *servedHarness) request(ctx context.Context, what string) error {
	h.record("%s", what)
	h.mu.Lock()
	answer, at := h.answer, time.Since(h.start).Seconds()
	h.times = append(h.times, at)
	if strings.HasSuffix(what, "list") {
		h.listTimes = append(h.listTimes, at)
	}
	h.mu.Unlock()
	if answer == "hang" {
		<-ctx.Done()
		return ctx.Err()
	}
	return errorOf(answer)
}

func (h *servedHarness) List(ctx context.Context, options metav1.ListOptions, _ func(feed.Item) error) (metav1.ListMeta, error) {
	what := "list"
	if options.Limit == 1 {
		what = "probe"
	}
	err := h.request(ctx, what)
	h.mu.Lock()
	defer h.mu.Unlock()
	return metav1.ListMeta{ResourceVersion: fmt.Sprint(h.version)}, err
}

func (h *servedHarness) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	what := "watch"
	if options.SendInitialEvents != nil {
		what = "watchlist"
	}
	if err := h.request(ctx, what); err != nil {
		return err
	}
	events.Opened()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-h.watches:
		return err
	}
}

func (*servedHarness) Traits() feed.Traits { return feed.Traits{} }

// A stream that joins others starts with a watch; one whose scopes were cleared meanwhile, with a
// list.
func TestJoinedStreamFollowsVerdicts(t *testing.T) {
	for _, row := range []struct{ steps, want string }{
		{"before served; 1s phase", "0s watch; 1s Watching"},
		{"before served; 1s 404; 1s gone; 2s ok; 2s served; 3s phase", "0s watch; 1s probe; 1s clear, gone; 2s expect; 2s list; 2s watch; 3s Watching"},
		{"before gone; 1s phase", "0s probe; 100ms probe; 300ms probe; 700ms probe; 700ms watch; 1s Watching"}, // the server lags
		{"before 404; before gone; 1s phase; 2s ok; 2s served; 3s phase", "0s probe; 0s clear, gone; 1s NotServed; 2s expect; 2s list; 2s watch; 3s Watching"},
	} {
		h := &servedHarness{}
		if got := h.run(t, Config{From: "10", Backoff: withoutJitter()}, row.steps); got != row.want {
			t.Errorf("steps %s\n got %s\nwant %s", row.steps, got, row.want)
		}
	}
}

// TestChangedFollowsClear checks that a program which waits for a change of the status learns that
// the store has no objects any more.
func TestChangedFollowsClear(t *testing.T) {
	h := &servedHarness{}
	got := h.run(t, Config{From: "10", Backoff: withoutJitter(), Changed: func() { h.record("changed") }}, "before served; 1s 404; 1s gone; 2s phase")
	if !strings.Contains(got, "1s changed; 1s clear, gone; 1s changed; 2s NotServed") {
		t.Error(got)
	}
}

func TestWatchListFollowsVerdicts(t *testing.T) {
	h := &servedHarness{}
	got := h.run(t, Config{WatchList: always(true), Backoff: withoutJitter()}, "0s 404; 1s served; 1.5s gone; 2s served; 9s phase")
	want := "0s pending, they exist; 1s watchlist; 1.1s watchlist; 1.3s watchlist; 1.5s gone, they exist; 2s watchlist; 2.1s watchlist; 2.3s watchlist; " +
		"2.7s watchlist; 3.5s watchlist; 5.1s watchlist; 5.1s list; 5.1s report list; 6.1s watchlist; 6.1s list; 6.1s report list; " +
		"8.1s watchlist; 8.1s list; 8.1s report list; 9s Retrying"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A panic of a probe ends the reflector, as that of any request.
func TestPanicOfProbeIsRaised(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	resource := served.New(served.ErrNotServed)
	resource.Set(served.Gone, served.ErrNotServed)
	source := &scriptedSource{lists: lists{func() (string, error) {
		return "", fmt.Errorf("probe: %w", &feed.PanicError{Func: "listing", Value: "injected"})
	}}}
	store := failIfCleared(t)
	store.ever, store.now = true, true
	_ = New(Config{
		Source: source, Sink: store, Store: store, From: "10", Served: func() *served.Resource { return resource },
	}).Run(t.Context())
}

// do takes a step: a verdict, the next answers of the server, how the watch ends, or "stop".
func (h *servedHarness) do(step string) {
	verdicts := map[string]served.Outcome{
		"pending": served.Pending, "unknown": served.Unknown, "served": served.Served, "notserved": served.NotServed, "gone": served.Gone,
	}
	if outcome, ok := verdicts[step]; ok {
		h.resource.Set(outcome, fmt.Errorf("%s: %w", step, served.ErrNotServed))
		return
	}
	if answer, ok := strings.CutPrefix(step, "end "); ok {
		h.watches <- errorOf(answer)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = step
}

// run takes steps such as "1s gone" or, before the start, "before gone", separated by semicolons.
// It returns the log.
func (h *servedHarness) run(t *testing.T, config Config, steps string) string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h.resource = served.New(fmt.Errorf("pending: %w", served.ErrNotServed))
		h.start, h.answer, h.version, h.watches = time.Now(), "ok", 10, make(chan error)
		store := &clearableSink{ever: config.From != "", now: config.From != ""}
		store.cleared = func(why error) {
			if why == nil {
				why = errors.New("clear, gone")
			}
			h.record("%v", strings.Replace(why.Error(), ": "+served.ErrNotServed.Error(), ", they exist", 1))
		}
		store.expected = func() { h.record("expect") }
		config.Source, config.Sink, config.Store = h, store, store
		config.Served = func() *served.Resource { return h.resource }
		config.Report = func(_ context.Context, err error) {
			attempt, _ := errors.AsType[*AttemptError](err)
			h.record("report %s", attempt.Op)
		}
		for {
			what, rest, _ := strings.Cut(steps, "; ")
			before, ok := strings.CutPrefix(what, "before ")
			if !ok {
				break
			}
			h.do(before)
			steps = rest
		}
		r := New(config)
		h.status = r.Status
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		for step := range strings.SplitSeq(steps, "; ") {
			at, what, _ := strings.Cut(step, " ")
			offset, err := time.ParseDuration(at)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Until(h.start.Add(offset))) // in the bubble
			synctest.Wait()
			if what == "phase" {
				h.record("%s", h.status().Phase)
				continue
			}
			h.do(what)
			synctest.Wait()
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if verdict := h.resource.Verdict(); verdict.Outcome == served.Pending {
			t.Error("no verdict")
		}
	})
	return strings.Join(h.log, "; ")
}

func TestReflectorFollowsVerdicts(t *testing.T) {
	const started = "0s pending, they exist; 0s list; 0s watch; "
	for _, row := range []struct{ name, steps, want string }{
		{"no request before the resource is served", "0s phase; 100s notserved; 200s gone; 300s phase; 301s served; 302s phase",
			"0s pending, they exist; 0s NotServed; 1m40s notserved, they exist; 3m20s gone, they exist; 5m0s NotServed; 5m1s list; 5m1s watch; 5m2s Watching"},
		{"a resource without a verdict that can be had is requested", "0s unknown; 1s phase", started + "1s Watching"},

		{"its definition is deleted", "0s served; 10s 404; 10s gone; 11s phase; 100s phase", started + "10s probe; 10s clear, gone; 11s NotServed; 1m40s NotServed"},
		{"its version is not served", "0s served; 10s 404; 10s notserved; 11s phase", started + "10s probe; 10s notserved, they exist; 11s NotServed"},
		{"another reason, and no request", "0s served; 10s 404; 10s notserved; 20s 404; 20s gone", started + "10s probe; 10s notserved, they exist; 20s clear, gone"},
		{"served again", "0s served; 10s 404; 10s gone; 20s ok; 20s served; 21s phase; 30s 404; 30s gone; 31s phase",
			started + "10s probe; 10s clear, gone; 20s expect; 20s list; 20s watch; 21s Watching; 30s probe; 30s clear, gone; 31s NotServed"},
		{"a replica that lags", "0s served; 10s gone; 11s phase; 20s 404; 20s end 404; 21s phase",
			started + "10s probe; 10.1s probe; 10.3s probe; 10.7s probe; 10.7s list; 10.7s watch; 11s Watching; 20.1s probe; 20.1s gone, they exist; 21s NotServed"},
		{"403", "0s served; 10s 403; 10s gone; 12s phase; 13.5s 404; 18s phase",
			started + "10s probe; 10s report list; 11s probe; 11s report list; 12s Retrying; 13s probe; 13s report list; 17s probe; 17s clear, gone; 18s NotServed"},
		{"503", "0s served; 10s 503; 10s gone; 12s ok; 14s phase", started + "10s probe; 10s report list; 11s probe; 11s report list; 13s probe; 13.1s probe; 13.3s probe; 13.7s probe; 13.7s list; 13.7s watch; 14s Watching"},
		{"no answer", "0s served; 10s hang; 10s gone; 12s phase; 40.5s ok; 42s phase", started + "10s probe; 12s Resuming; 40s report list; 41s probe; 41.1s probe; 41.3s probe; 41.7s probe; 41.7s list; 41.7s watch; 42s Watching"},

		{"404s without a verdict", "0s served; 10s 404; 10s end 404; 20s phase; 20.1s ok; 100s phase",
			started + "10.1s list; 10.3s list; 10.7s list; 11.5s list; 13.1s list; 13.1s report list; 14.1s list; 14.1s report list; 16.1s list; 16.1s report list; 20s Retrying; 20.1s list; 20.1s report list; 28.1s list; 28.1s watch; 1m40s Watching"},
		{"404s right after the start", "0s 404; 1s served; 1.5s phase; 2s ok; 10s phase", "0s pending, they exist; 1s list; 1.1s list; 1.3s list; 1.5s Listing; 1.7s list; 2.5s list; 2.5s watch; 10s Watching"},
		{"404s are forgotten after a list", "0s 404; 1s served; 1.2s ok; 10s 404; 10s end 404; 10.2s ok; 11s phase",
			"0s pending, they exist; 1s list; 1.1s list; 1.3s list; 1.3s watch; 10.1s list; 10.3s list; 10.3s watch; 11s Watching"},
		{"404s of a resource of which nothing is known", "0s 404; 0s unknown; 0.5s phase", "0s pending, they exist; 0s list; 0s report list; 500ms Retrying"},
		{"404s end with the verdict", "0s served; 10s 404; 10s end 404; 10.2s gone; 20s phase", started + "10.1s list; 10.2s probe; 10.2s clear, gone; 20s NotServed"},

		{"deleted during a list", "0s hang; 0s served; 1s 404; 1s gone; 2s ok; 2s served", "0s pending, they exist; 0s list; 1s gone, they exist; 2s list; 2s watch"},
		{"deleted and created again during a list", "0s hang; 0s served; 1s ok; 1s gone; 1s served", "0s pending, they exist; 0s list; 1s gone, they exist; 1s list; 1s watch"},
		{"deleted during a relist", "0s served; 10s hang; 10s end 410; 11s 404; 11s gone", started + "10s report watch; 10s list; 11s probe; 11s clear, gone"},
		{"served during a probe", "0s served; 10s hang; 10s gone; 11s ok; 11s served; 12s phase", started + "10s probe; 11s list; 11s watch; 12s Watching"},
		{"served during the pause after a probe", "0s served; 10s 503; 10s gone; 10.5s ok; 10.5s served; 11s phase", started + "10s probe; 10s report list; 10.5s list; 10.5s watch; 11s Watching"},
		{"deleted during the pause after a list", "0s 503; 0s served; 0.5s gone; 1s ok; 2s served", "0s pending, they exist; 0s list; 0s report list; 500ms gone, they exist; 2s list; 2s watch"},
		{"deleted during the pause after a watch", "0s served; 10s 503; 10s end 503; 10.5s 404; 10.5s gone", started + "10s report watch; 10.5s probe; 10.5s clear, gone"},
		{"deleted during a Retry-After", "0s served; 10s wait; 10s end 410; 11s ok; 11s gone; 12s served; 39s phase; 45s phase", started + "10s report watch; 10s list; 10s report list; 39s Retrying; 40s list; 40s watch; 45s Watching"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := &servedHarness{}
			if got := h.run(t, Config{Backoff: withoutJitter()}, row.steps); got != strings.TrimSuffix(row.want, "; ") {
				t.Errorf("steps %s\n got %s\nwant %s", row.steps, got, row.want)
			}
		})
	}
}

// TestBudgetOutlastsTheAbsenceOfTheResource serves a resource and removes it in turn: requests are
// as limited as those of a resource that is always served. The reflector watches in the end.
func TestBudgetOutlastsTheAbsenceOfTheResource(t *testing.T) {
	const lasts = 20 * time.Minute
	for name, row := range map[string]struct {
		served, absent time.Duration
		answer         string // while the resource is served
		whileAbsent    string // answers, half a second apart
		config         Config
		free           int // requests a minute that Config.Backoff paces
	}{
		"a second each":                      {time.Second, time.Second, "ok", "404", Config{}, 0},
		"three seconds each":                 {3 * time.Second, 3 * time.Second, "ok", "404", Config{}, 0},
		"ten seconds each":                   {10 * time.Second, 10 * time.Second, "ok", "404", Config{}, 0},
		"seldom served":                      {time.Second, 9 * time.Second, "ok", "404", Config{}, 0},
		"seldom absent":                      {9 * time.Second, time.Second, "ok", "404", Config{}, 0},
		"by a WatchList":                     {3 * time.Second, 3 * time.Second, "ok", "404", Config{WatchList: always(true)}, 0},
		"after a probe of the start":         {3 * time.Second, 3 * time.Second, "ok", "404", Config{Start: NewStart(nil)}, 0},
		"with a Backoff":                     {3 * time.Second, 3 * time.Second, "ok", "404", Config{Backoff: explicit()}, 0},
		"with a Backoff, after a failure":    {3 * time.Second, 3 * time.Second, "ok", "503 404", Config{Backoff: wait.Backoff{Duration: time.Second}}, 10},
		"a server that lags":                 {3 * time.Second, 3 * time.Second, "404", "404", Config{}, 0},
		"a server that fails":                {3 * time.Second, 3 * time.Second, "503", "503", Config{}, 0},
		"a server that forbids":              {3 * time.Second, 3 * time.Second, "ok", "403", Config{}, 0},
		"a server that answers all the same": {3 * time.Second, 3 * time.Second, "ok", "ok", Config{}, 0},
		"a server without an answer":         {3 * time.Second, 3 * time.Second, "hang", "hang", Config{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []string
			at := time.Duration(0)
			for ; at < lasts; at += row.served + row.absent {
				steps = append(steps, fmt.Sprint(at, " ", row.answer), fmt.Sprint(at, " served"))
				for n, answer := range strings.Fields(row.whileAbsent) {
					steps = append(steps, fmt.Sprint(at+row.served+time.Duration(n)*500*time.Millisecond, " ", answer))
					if n == 0 {
						steps = append(steps, fmt.Sprint(at+row.served, " gone"))
					}
				}
			}
			steps = append(steps, fmt.Sprint(at, " ok"), fmt.Sprint(at, " served"), fmt.Sprint(at+90*time.Second, " phase"))
			h := &servedHarness{}
			log := h.run(t, row.config, strings.Join(steps, "; "))
			if got := inWindow(h.times, 60); got > 22+row.free {
				t.Errorf("%d requests within a minute, want at most %d", got, 22+row.free)
			}
			if got := inWindow(h.times, 600); got > 130+10*row.free {
				t.Errorf("%d requests within ten minutes, want at most %d", got, 130+10*row.free)
			}
			if row.answer != "ok" || !strings.HasSuffix(row.whileAbsent, "404") {
				return
			}
			if got := inWindow(h.listTimes[1:], 60); got > 4 && row.config.WatchList == nil { // which does not end here
				t.Errorf("%d lists within a minute, want at most 4", got)
			}
			if got := len(h.listTimes); got < 50 {
				t.Errorf("%d lists, want 50 at least", got)
			}
			if !strings.HasSuffix(log, "Watching") {
				t.Errorf("not watching after 90 s without a change: %s", log[max(0, len(log)-200):])
			}
		})
	}
}
