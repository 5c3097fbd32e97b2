// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// client is a program's client of the service "cloud", and what the program has seen in all runs.
type client struct {
	http.Client
	log []string
}

// send sends a request, and returns the response's body, or what went wrong.
func (c *client) send(ctx context.Context, method, path string) string {
	request, err := http.NewRequestWithContext(ctx, method, "https://user:secret@cloud.example.com"+path, strings.NewReader("sent"))
	if err != nil {
		return err.Error()
	}
	response, err := c.Do(request)
	if err != nil {
		return err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strings.TrimSuffix(response.Status+" "+response.Header.Get("Retry-After"), " ") + " " + string(body))
}

// externalTest is the test of a program that has a client of a service, which handler plays. After
// run has returned, the program waits.
func externalTest(handler http.HandlerFunc, run func(context.Context, *client)) (simulate.Test, *client) {
	c := &client{}
	return simulate.Test{
		Setup: func(w *simulate.World) { c.Transport = w.External("cloud", handler) },
		Start: func(ctx context.Context, _ *rest.Config) error {
			run(ctx, c)
			<-ctx.Done()
			return nil
		},
	}, c
}

func TestDisturbancesOfExternalRequests(t *testing.T) {
	const write = "1st PUT of cloud volumes/a"
	for _, test := range []struct {
		disturbance simulate.Disturbance
		want        string // after the undisturbed run
		executed    int
		starts      int
	}{
		{simulate.Crash{Before: write}, "connection refused, 200 OK done", 1, 2},
		{simulate.BackInTime{Before: write}, "connection refused, 200 OK done", 1, 2},
		{simulate.Crash{After: write}, "connection reset by peer, 200 OK done", 2, 2},
		{simulate.LostResponse{To: write}, "connection reset by peer, 200 OK done", 2, 1},
		{simulate.ServerError{To: write}, "500 Internal Server Error Internal error occurred: a simulated failure, 200 OK done", 1, 1},
		{simulate.TooManyRequests{To: write}, "429 Too Many Requests 1 simulated, 200 OK done", 1, 1},
	} {
		t.Run(test.disturbance.String(), func(t *testing.T) {
			executed, starts := 0, 0
			found, c := findExternal(t, func(w http.ResponseWriter, _ *http.Request) {
				executed++
				_, _ = io.WriteString(w, "done") // in memory
			}, func(ctx context.Context, c *client) {
				starts++
				for ctx.Err() == nil {
					c.log = append(c.log, c.send(context.Background(), http.MethodPut, "/volumes/a"))
					if strings.HasPrefix(c.log[len(c.log)-1], "200") {
						return
					}
				}
			}, test.disturbance)
			wantFound(t, found, "")
			if got := strings.Join(c.log, ", "); got != "200 OK done, "+test.want || executed-1 != test.executed || starts-1 != test.starts {
				t.Errorf("got %s, %d executions and %d calls of Start, want 200 OK done, %s, %d and %d\n%s", got, executed-1, starts-1, test.want, test.executed, test.starts, found.Timeline)
			}
		})
	}
}

// findExternal executes the undisturbed run and one with disturbances.
func findExternal(t *testing.T, handler http.HandlerFunc, run func(context.Context, *client), disturbances ...simulate.Disturbance) (simulate.Found, *client) {
	t.Helper()
	test, c := externalTest(handler, run)
	return simulate.RunPlan(t, test, 0, disturbances...), c
}

// A handler receives what it would receive from a server, and a client what it would from one.
func TestExternalRequestIsThatOfServer(t *testing.T) {
	found, c := findExternal(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		w.Header().Set("Location", "/elsewhere")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusSeeOther)
		}
		_, _ = fmt.Fprint(w, r.Method, " ", r.Host, " ", r.URL, " ", r.RequestURI, " ", string(body), err, " ", user, password, " ", r.ContentLength) // in memory
	}, func(ctx context.Context, c *client) {
		c.log = append(c.log, c.send(ctx, http.MethodPut, "/a%20b?c=d"), c.send(ctx, http.MethodHead, "/a"), c.send(ctx, http.MethodPost, "/a"))
	})
	wantFound(t, found, "")
	want := []string{
		"200 OK PUT cloud.example.com /a%20b?c=d /a%20b?c=d sent<nil> usersecret 4", "200 OK",
		"200 OK GET cloud.example.com /elsewhere /elsewhere <nil> usersecret 0",
	}
	if !slices.Equal(c.log[:3], want) {
		t.Errorf("got %q, want %q", c.log[:3], want)
	}
	for _, line := range []string{"1st PUT of cloud a%20b: 200 OK", "process 1  HEAD of cloud a: 200 OK", "1st POST of cloud a: 303 See Other", "process 1  GET of cloud elsewhere: 200 OK"} {
		if !strings.Contains(found.Timeline, line) {
			t.Errorf("got no %q in\n%s", line, found.Timeline)
		}
	}
}

func TestPanicOfHandlerFailsRun(t *testing.T) {
	put := func(ctx context.Context, c *client) { c.log = append(c.log, c.send(ctx, http.MethodPut, "/a")) }
	test, _ := externalTest(func(http.ResponseWriter, *http.Request) { panic("no map") }, put)
	wantFound(t, simulate.Find(t, test, 20), "steps", "the handler of cloud panicked: no map", "external_test.go")
	test, c := externalTest(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, put)
	wantFound(t, simulate.Find(t, test, 20), "steps", "every write of the undisturbed run is refused")
	if c.log[0] != "connection reset by peer" {
		t.Errorf("got %q of an aborted response, want a reset connection", c.log[0])
	}
}

// A handler that does not answer ends with the client's request. A program that has no timeout, and
// ignores its context, does not return.
func TestHandlerThatNeverAnswers(t *testing.T) {
	var ended []error
	handler := func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended = append(ended, context.Cause(r.Context()))
	}
	found, c := findExternal(t, handler, func(ctx context.Context, c *client) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		c.log = append(c.log, fmt.Sprint(c.send(ctx, http.MethodPut, "/a"), " after ", time.Since(begun)))
	})
	wantFound(t, found, "")
	if want := "context deadline exceeded after 1m0s"; c.log[0] != want || len(ended) != 2 || !errors.Is(ended[0], context.DeadlineExceeded) {
		t.Errorf("got %q and handlers that ended by %v, want %q and the same cause in 2 runs", c.log, ended, want)
	}
	test, _ := externalTest(handler, func(_ context.Context, c *client) { c.send(context.Background(), http.MethodGet, "/a") })
	wantFound(t, simulate.Find(t, test, 20), "return", "Start has not returned 5m0s after", "external_test.go")
}

func TestHandlerThatIgnoresItsContextIsFound(t *testing.T) {
	test, _ := externalTest(func(http.ResponseWriter, *http.Request) { select {} }, func(ctx context.Context, c *client) { c.send(ctx, http.MethodGet, "/a") })
	wantFound(t, simulate.Find(t, test, 1), "goroutines", "A handler of World.External must return when the context of its request ends")
}

// A crash during a request closes its connection, and the process that is started again does not
// receive the response.
func TestCrashDuringExternalRequest(t *testing.T) {
	var mu sync.Mutex
	var results []string
	test, c := externalTest(func(_ http.ResponseWriter, r *http.Request) {
		result := "closed"
		select {
		case <-time.After(time.Minute):
			result = "slept"
		case <-r.Context().Done():
		}
		mu.Lock()
		defer mu.Unlock()
		results = append(results, result)
	}, func(context.Context, *client) {})
	test.Objects = []fake.Object{source("1")}
	test.Start = start(func(ctx context.Context, copier *copier, key string) error {
		go c.send(context.Background(), http.MethodGet, "/slow")
		return copyConfigMap(ctx, copier, key)
	})
	test.Without = []simulate.Oracle{simulate.EndState}
	found := simulate.RunPlan(t, test, 0, simulate.Crash{After: "1st create of secrets default/a"})
	wantFound(t, found, "")
	if got := strings.Join(results, " "); !strings.Contains(got, "closed slept") {
		t.Errorf("got %s, want a closed connection and others that end\n%s", got, found.Timeline)
	}
}

// A slow request delays no other, and takes no real time.
func TestExternalRequestsAreConcurrent(t *testing.T) {
	found, c := findExternal(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(time.Minute)
		}
		_, _ = io.WriteString(w, r.URL.Path) // in memory
	}, func(ctx context.Context, c *client) {
		var mu sync.Mutex
		var done sync.WaitGroup
		begun := time.Now()
		for _, path := range []string{"/slow", "/a", "/b"} {
			done.Go(func() {
				response := c.send(ctx, http.MethodPut, path)
				mu.Lock()
				defer mu.Unlock()
				c.log = append(c.log, fmt.Sprint(response, " after ", time.Since(begun)))
			})
		}
		done.Wait()
	})
	wantFound(t, found, "")
	if want := []string{"200 OK /a after 0s", "200 OK /b after 0s", "200 OK /slow after 1m0s"}; !slices.Equal(c.log[:3], want) {
		t.Errorf("got %q, want %q", c.log[:3], want)
	}
}

func TestTransportIsUsedInItsRunOnly(t *testing.T) {
	test, _ := externalTest(func(http.ResponseWriter, *http.Request) {}, func(ctx context.Context, c *client) { c.send(ctx, http.MethodPut, "/a") })
	setup := test.Setup
	var once sync.Once
	test.Setup = func(w *simulate.World) { once.Do(func() { setup(w) }) }
	wantFound(t, simulate.Find(t, test, 20), "steps", "request to cloud: the run of its transport has ended. Call World.External in Setup")
}

// Only the context says which of several replicas sends a request.
func TestReplicaOfExternalRequest(t *testing.T) {
	for name, test := range map[string]struct {
		send func(context.Context, *client)
		want string
	}{
		"context of Start": {func(ctx context.Context, c *client) { c.send(ctx, http.MethodPut, "/a") }, ""},
		"another context":  {func(_ context.Context, c *client) { c.send(context.Background(), http.MethodPut, "/a") }, "steps"},
	} {
		t.Run(name, func(t *testing.T) {
			replicated, _ := externalTest(func(http.ResponseWriter, *http.Request) {}, test.send)
			replicated.Replicas = 2
			found := simulate.Find(t, replicated, 20)
			wantFound(t, found, test.want)
			if test.want != "" && !strings.Contains(found.Text, "request to cloud: its context is not derived from that of Start") {
				t.Errorf("got %s", found.Text)
			}
		})
	}
}

// The functions of a test use the transport as the program does, and have no disturbances.
func TestFunctionsOfTestUseTransport(t *testing.T) {
	service := newStorage()
	var c client
	put := func(name string) {
		if got := c.send(t.Context(), http.MethodPut, name); got != "200 OK" {
			t.Errorf("got %s of the test's request, want 200 OK", got)
		}
	}
	test := simulate.Test{
		Setup: func(w *simulate.World) {
			service = newStorage()
			c.Transport = w.External("storage", service)
			put("/setup")
		},
		Start: func(ctx context.Context, _ *rest.Config) error {
			for c.send(ctx, http.MethodPut, "/program") != "200 OK" && ctx.Err() == nil {
				continue
			}
			<-ctx.Done()
			return nil
		},
		Outside: func() any {
			put("/outside")
			return service.state()
		},
		Steps: func(w *simulate.World) {
			put("/steps")
			w.Settle()
		},
	}
	wantFound(t, simulate.Find(t, test, 20), "")
	if got, want := fmt.Sprint(service.state()), "map[buckets:[outside program setup steps]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSetupIsCalledOnceInEachRun(t *testing.T) {
	setups, starts := 0, 0
	test := copying(copyConfigMap)
	run := test.Start
	test.Start = func(ctx context.Context, config *rest.Config) error {
		starts++
		return run(ctx, config)
	}
	test.Setup = func(w *simulate.World) {
		w.Sleep(time.Second) // in which a program that is started would run
		if setups++; starts != setups-1 {
			t.Errorf("got %d calls of Start before call %d of Setup", starts, setups)
		}
		w.Delete(source("1"))
		w.Create(source("0"))
	}
	found := simulate.RunPlan(t, test, 0, simulate.Crash{After: "1st create of secrets default/a"})
	wantFound(t, found, "")
	if setups != 2 || starts != 3 {
		t.Errorf("got %d calls of Setup and %d of Start, want 2 and 3\n%s", setups, starts, found.Timeline)
	}
	test.Setup = func(w *simulate.World) { w.Create(source("1")) }
	wantFound(t, simulate.Find(t, test, 20), "steps", "create ConfigMap default/a: ")
}

// Without Outside, a run that leaves a bucket ends as the others do.
func TestWithoutOutsideOnlyObjectsAreCompared(t *testing.T) {
	test := buckets(false)
	test.Outside = nil
	wantFound(t, simulate.Find(t, test, 30), "")
}

func TestOutsideIsCompared(t *testing.T) {
	for name, test := range map[string]struct {
		outside func(run int) any
		ignore  string
		oracle  string
		want    string
	}{
		"nothing":      {func(int) any { return nil }, "", "", ""},
		"equal":        {func(int) any { return struct{ Size float64 }{1e9} }, "", "", ""},
		"field":        {func(run int) any { return struct{ Size int }{1e9 + run} }, "", "order", `Outside: state.Size is "1000000002", and "1000000001"`},
		"ignored":      {func(run int) any { return struct{ Size int }{run} }, "Outside state.Size", "", ""},
		"no object":    {func(run int) any { return []int{run} }, "", "order", `Outside: state[0] is "2", and "1"`},
		"no JSON":      {func(int) any { return make(chan int) }, "", "steps", "encode what Test.Outside returns: json: unsupported type: chan int"},
		"time in runs": {func(int) any { return time.Now() }, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := 0
			idle, _ := externalTest(nil, func(context.Context, *client) {})
			idle.Setup = func(*simulate.World) { run++ }
			idle.Outside = func() any { return test.outside(run) }
			if test.ignore != "" {
				idle.Ignore = []string{test.ignore}
			}
			wantFound(t, simulate.Find(t, idle, 5), test.oracle, test.want)
		})
	}
}

// A write to an external service is work if it changes what Outside returns.
func TestRestOfExternalWrites(t *testing.T) {
	names := func(same bool) simulate.Test {
		var service *storage
		test, c := externalTest(nil, nil)
		test.Setup = func(w *simulate.World) {
			service = newStorage()
			c.Transport = w.External("storage", service)
		}
		test.Start = func(ctx context.Context, _ *rest.Config) error {
			i := 0
			return every(ctx, 10*time.Minute, func() {
				if i++; same {
					i = 1
				}
				c.send(ctx, http.MethodPut, fmt.Sprint("/", i))
			})
		}
		test.Outside = func() any { return service.state() }
		return test
	}
	wantFound(t, simulate.Find(t, names(false), 5), "rest", "1 times PUT of storage 10")
	wantFound(t, simulate.Find(t, names(true), 5), "")
}

// What differs from run to run in a path is no part of the name of a write.
func TestExternalWriteIsNamedWithoutUIDs(t *testing.T) {
	test, c := externalTest(func(http.ResponseWriter, *http.Request) {}, nil)
	test.Objects = []fake.Object{source("1")}
	test.Start = start(func(ctx context.Context, copier *copier, key string) error {
		if err := createUnlessCached(ctx, copier, key); err != nil {
			return err
		}
		secrets, err := copier.secrets.List(labels.Everything())
		for _, secret := range secrets {
			c.send(ctx, http.MethodPut, fmt.Sprintf("/%s/pvc-%s", secret.Name, secret.UID))
		}
		return err
	})
	found := simulate.RunPlan(t, test, 0, simulate.LostResponse{To: "1st PUT of cloud a-*1/pvc-*"})
	wantFound(t, found, "")
	if want := "simulate.LostResponse{To: \"1st PUT of cloud a-*1/pvc-*\"}"; !strings.Contains(found.Timeline, want) {
		t.Errorf("got no %s in\n%s", want, found.Timeline)
	}
}

// Functions of the test may send requests to a service, which are executed at once.
func TestInvariantUsesExternal(t *testing.T) {
	test, c := externalTest(func(http.ResponseWriter, *http.Request) {}, nil)
	test.Objects = []fake.Object{source("1")}
	test.Start = copying(copyConfigMap).Start
	called := 0
	test.Invariants = []func(simulate.Write) error{func(simulate.Write) error {
		called++
		if got := c.send(t.Context(), http.MethodGet, "/a"); got != "200 OK" {
			return errors.New(got)
		}
		return nil
	}}
	if wantFound(t, simulate.Find(t, test, 1), ""); called == 0 {
		t.Error("the invariant was not called")
	}
}

func TestNameOfExternalHasNoSpace(t *testing.T) {
	for _, name := range []string{"", "storage by aws", "a/b"} {
		test, _ := externalTest(func(http.ResponseWriter, *http.Request) {}, func(context.Context, *client) {})
		test.Setup = func(w *simulate.World) { w.External(name, http.NotFoundHandler()) }
		wantFound(t, simulate.Find(t, test, 1), "steps", "is empty, or has a space or slash")
	}
}

// The end of a call of a service's handler is no timer of the program.
func TestHandlerThatSleepsIsNoTimer(t *testing.T) {
	test := sweepByCache(false)
	c := &client{}
	test.Setup = func(w *simulate.World) {
		c.Transport = w.External("cloud", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))
	}
	sweep := test.Start
	test.Start = func(ctx context.Context, config *rest.Config) error {
		client := kubernetes.NewForConfigOrDie(config)
		factory := informers.NewSharedInformerFactory(client, 0)
		changed := make(chan struct{}, 1)
		signal := func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		_, _ = factory.Core().V1().Secrets().Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { signal() }, UpdateFunc: func(any, any) { signal() },
		})
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		var reports sync.WaitGroup
		defer reports.Wait()
		reports.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-ctx.Done():
				case <-changed:
					c.send(ctx, http.MethodGet, "/report")
				}
			}
		})
		return sweep(ctx, config)
	}
	found := simulate.RunPlan(t, test, 0, simulate.Lag{After: "1st create of configmaps default/b by steps", UntilTimer: true})
	if found.Oracle == "" {
		t.Errorf("the sweep of a stale cache was not found in\n%s", found.Timeline)
	}
}

// A generated name that begins like another one is replaced as a whole.
func TestExternalWriteIsNamedByTheLongestName(t *testing.T) {
	aliases := map[string]string{"jobs default/a-x": "a-*1", "pods default/a-x-y": "a-*1-*1", "nodes a-x-y-z": "a-*1-*1-*1"}
	for range 20 { // orders of the map
		if got, want := simulate.NameExternal(aliases, "logs/a-x-y"), "1st PUT of cloud logs/a-*1-*1"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestOtherDisturbancesOfExternalRequestsAreRefused(t *testing.T) {
	put := func(ctx context.Context, c *client) { c.send(ctx, http.MethodPut, "/a") }
	for _, d := range []simulate.Disturbance{simulate.Conflict{To: "1st PUT of cloud a"}, simulate.Lag{After: "1st PUT of cloud a"}, simulate.Gap{After: "1st PUT of cloud a"}} {
		found, _ := findExternal(t, func(http.ResponseWriter, *http.Request) {}, put, d)
		wantFound(t, found, "steps", "1st PUT of cloud a is not a write to the API server")
	}
	test, _ := externalTest(func(http.ResponseWriter, *http.Request) {}, put)
	test.Disturb = []simulate.Disturbance{simulate.Conflict{}, simulate.Lag{}, simulate.Gap{}}
	if found := simulate.Find(t, test, 30); found.Oracle != "" || found.Runs != 11 {
		t.Errorf("got %q and %d runs, want none with a disturbance", found.Text, found.Runs)
	}
}
