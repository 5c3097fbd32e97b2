package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
)

// subject is a running informer or reflector under test, and what was seen of it.
type subject struct {
	*told
	name       string
	streaming  bool
	watchList  bool
	controller *cache.Controller // nil for a reflector
	version    func() string
	content    func() map[string]state // of the store
	requests   *requests
	errors     *errorsHeard
	revision   func(context.Context) (int64, error) // the server's

	cancel context.CancelFunc
	label  string
	done   <-chan struct{}
	err    error // of Run, read after done is closed
}

// lister makes the source of a test's collection with a client of config.
type lister func(t *testing.T, config *rest.Config) cache.ListerWatcher

// startSubjects runs, over one collection, an informer, a reflector that lists, and one that asks for a WatchList, each
// streaming and classic. All have ended, and left nothing behind, when the test has. configure, if given, changes the
// configuration of their clients.
func startSubjects[T cache.Object](t *testing.T, c *cluster.Cluster, example T, list lister, configure ...func(*rest.Config)) []*subject {
	t.Helper()
	var all []*subject
	for _, streaming := range []bool{true, false} {
		all = append(all,
			startInformer(t, c, streaming, example, list, configure...),
			startReflector(t, c, streaming, example, list, cache.ListModeList, configure...),
			startReflector(t, c, streaming, example, list, cache.ListModeWatchList, configure...))
	}
	return all
}

func startInformer[T cache.Object](t *testing.T, c *cluster.Cluster, streaming bool, example T, list lister, configure ...func(*rest.Config)) *subject {
	t.Helper()
	s := newSubject("informer", streaming, c)
	store, controller := cache.NewInformer(list(t, s.connect(c, configure...)), example, 0, toldHandler[T]{s.told})
	s.controller, s.version, s.content = controller, controller.LastSyncResourceVersion, contentOf(store)
	s.start(t, controller.Run)
	return s
}

func startReflector[T cache.Object](t *testing.T, c *cluster.Cluster, streaming bool, example T, list lister, sync cache.ListMode,
	configure ...func(*rest.Config)) *subject {
	t.Helper()
	s := newSubject(fmt.Sprintf("reflector by %s", sync), streaming, c)
	s.watchList = sync == cache.ListModeWatchList
	store := &toldStore[T]{Store: cache.NewStore[T](nil, nil), told: s.told}
	reflector := cache.NewReflector(list(t, s.connect(c, configure...)), example, store,
		cache.ReflectorOptions{ListMode: sync, ErrorHandler: s.errors.add})
	s.version, s.content = reflector.LastSyncResourceVersion, contentOf(store)
	s.start(t, reflector.Run)
	return s
}

func newSubject(name string, streaming bool, c *cluster.Cluster) *subject {
	return &subject{
		name: wayOf(streaming) + " " + name, streaming: streaming, revision: c.Revision,
		told: newTold(), requests: &requests{}, errors: &errorsHeard{},
	}
}

func wayOf(streaming bool) string {
	if streaming {
		return "streaming"
	}
	return "classic"
}

// connect returns the configuration of the subject's client, whose requests are noted.
func (s *subject) connect(c *cluster.Cluster, configure ...func(*rest.Config)) *rest.Config {
	config := c.Config()
	for _, change := range configure {
		change(config)
	}
	config.Wrap(s.requests.wrap) // first, so that it sees what is sent
	if s.streaming {
		cache.EnableStreaming(config)
	}
	return config
}

func contentOf[T cache.Object](store cache.Reader[T]) func() map[string]state {
	return func() map[string]state {
		content := map[string]state{}
		for key, obj := range store.Snapshot().All() {
			content[key] = stateOf(obj)
		}
		return content
	}
}

func (s *subject) start(t *testing.T, run func(context.Context) error) {
	t.Helper()
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(0))).WithName(s.name)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	s.cancel = cancel
	s.label, s.done = labelled(ctx, func(ctx context.Context) { s.err = run(ctx) })
	t.Cleanup(func() { s.stop(t) })
}

// awaitListed waits until each has a first state, be it of no objects.
func awaitListed(t *testing.T, subjects []*subject) {
	t.Helper()
	for _, s := range subjects {
		await(t, s.name+" has a first state", func(context.Context) error {
			if s.version() == "" {
				return errors.New("it has none")
			}
			return nil
		})
	}
}

// stop ends the subject and checks that it ends well.
func (s *subject) stop(t *testing.T) {
	t.Helper()
	s.cancel()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatalf("%s: Run did not return within %s of its context's end", s.name, patience)
	}
	if s.err != nil {
		t.Errorf("%s: Run returned %v, want nil", s.name, s.err)
	}
	if s.controller != nil && s.controller.Status().Phase != cache.PhaseStopped {
		t.Errorf("%s: the phase after Run is %s, want Stopped", s.name, s.controller.Status().Phase)
	}
	expectNoGoroutines(t, s.label)
	s.check(t)
}

// settled checks that the subject has come to what the server has, and to rest: its handler and its store agree with the
// server, and its Status says that all is well.
func (s *subject) settled(t *testing.T, want map[string]state) {
	t.Helper()
	s.await(t, want)
	if got := s.content(); !maps.Equal(got, want) {
		t.Errorf("the store is not what the server has:\n%s", difference(got, want))
	}
	s.check(t)
	await(t, "the subject is in order", func(ctx context.Context) error { return s.inOrder(ctx, want) })
}

// inOrder says what is not as it has to be.
func (s *subject) inOrder(ctx context.Context, want map[string]state) error {
	at := parseVersion(s.version())
	revision, err := s.revision(ctx)
	if err != nil {
		return err
	}
	if at > revision {
		return fmt.Errorf("the version is %d; the server's is %d", at, revision)
	}
	for key, state := range want {
		if at < parseVersion(state.version) {
			return fmt.Errorf("the version is %d, and it has %s at %s", at, key, state.version)
		}
	}
	if s.controller == nil {
		return nil
	}
	status := s.controller.Status()
	switch {
	case status.Phase != cache.PhaseWatching, status.Err != nil, status.Attempts != 0, !status.ErrSince.IsZero():
		return fmt.Errorf("the phase is %s, %d attempts failed since %v: %w", status.Phase, status.Attempts, status.ErrSince, status.Err)
	case !status.Synced || !s.controller.HasSynced():
		return fmt.Errorf("it has not synced")
	case time.Since(status.FreshAt) > freshness:
		return fmt.Errorf("it was fresh %s ago", time.Since(status.FreshAt))
	case status.Objects != len(want) || status.Quarantined != 0:
		return fmt.Errorf("it holds %d objects, %d in quarantine, want %d and none", status.Objects, status.Quarantined, len(want))
	case status.Streaming != s.streaming, status.Streaming != (status.NotStreamingReason == ""):
		return fmt.Errorf("streaming is %t (%s), want %t", status.Streaming, status.NotStreamingReason, s.streaming)
	case len(status.Handlers) != 1 || !status.Handlers[0].Synced || status.Handlers[0].Backlog != 0:
		return fmt.Errorf("the handlers are %+v, want one that has heard all", status.Handlers)
	case status.ResourceVersion != s.controller.LastSyncResourceVersion():
		return fmt.Errorf("the status is at %s, the informer at %s", status.ResourceVersion, s.controller.LastSyncResourceVersion())
	}
	return nil
}

// freshness is the age of a quiet collection's last proof at most: bookmarks come each minute.
const freshness = 90 * time.Second

// truth is what the server has, by client-go alone.
type truth func(t *testing.T) map[string]state

// allSettle checks each subject, in a subtest of its own: that it is settled, and what else there is to check.
func allSettle(t *testing.T, subjects []*subject, truth truth, checks ...func(t *testing.T, s *subject)) {
	t.Helper()
	want := truth(t)
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			s.settled(t, want)
			for _, check := range checks {
				check(t, s)
			}
		})
	}
}

// errorsHeard are what an ErrorHandler was told.
type errorsHeard struct {
	mu  sync.Mutex
	all []error
}

func (h *errorsHeard) add(_ context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, err)
}

// any tells whether there is an error of a kind.
func (h *errorsHeard) any(is func(error) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.all, is)
}

func (h *errorsHeard) list() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// request is one request as it was sent, and the head of its answer.
type request struct {
	watch, initialEvents bool
	version              string
	accept               string
	status               int
	contentType          string
	proto                string
	tls, gzip            bool
}

// requests are those of one client.
type requests struct {
	mu  sync.Mutex
	all []request
}

// wrap notes requests once they are answered.
func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		query := req.URL.Query()
		note := request{
			watch: query.Get("watch") != "", initialEvents: query.Get("sendInitialEvents") == "true",
			version: query.Get("resourceVersion"), accept: req.Header.Get("Accept"),
		}
		resp, err := next.RoundTrip(req)
		if err == nil {
			note.status, note.contentType = resp.StatusCode, resp.Header.Get("Content-Type")
			note.proto, note.tls, note.gzip = resp.Proto, resp.TLS != nil, resp.Uncompressed
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, note)
		return resp, err
	})
}

// count returns how many lists, watches and WatchLists were answered with success.
func (r *requests) count() (lists, watches, watchLists int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		switch {
		case one.status != http.StatusOK:
		case one.initialEvents:
			watchLists++
		case one.watch:
			watches++
		default:
			lists++
		}
	}
	return lists, watches, watchLists
}

// wholeStates is how many requests were for a whole state.
func (r *requests) wholeStates() int {
	lists, _, watchLists := r.count()
	return lists + watchLists
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// gate is a network that can be cut.
type gate struct {
	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

// through has a client's connections go through the gate.
func (g *gate) through(config *rest.Config) { config.Dial = g.dial }

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut {
		return nil, fmt.Errorf("dial %s: %w", address, net.ErrClosed)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.conns = append(g.conns, conn)
	}
	return conn, err
}

// close cuts all connections and lets none be made.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for _, conn := range g.conns {
		conn.Close()
	}
	g.conns = nil
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

// await repeats what fails until it does not.
func await(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := poll(context.Background(), try); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// poll repeats what fails until it does not, and returns the last error when it takes too long.
func poll(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return err
}

const pollInterval = 50 * time.Millisecond

// truthOf makes a truth of a list by client-go. It may be called while the server comes back.
func truthOf[T metav1.Object](list func(ctx context.Context) ([]T, error)) truth {
	return func(t *testing.T) map[string]state {
		t.Helper()
		all := map[string]state{}
		await(t, "list what the server has", func(ctx context.Context) error {
			objs, err := list(ctx)
			for _, obj := range objs {
				all[keyOf(obj)] = stateOf(obj)
			}
			return err
		})
		return all
	}
}

// parseVersion is zero for what is no version, such as none.
func parseVersion(resourceVersion string) int64 {
	v, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
