package model_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// server answers requests from a world.
type server struct {
	mu       sync.Mutex // guards the fields below
	world    *world
	requests []request
	faults   []fault
	streams  []*stream
	injected map[string]int // how many requests had a fault, by "target: kind"
	timeline func(format string, arguments ...any)
	// flooded is called when there are more than maxFlood requests within a minute. Later requests
	// are not answered, as the program would never end.
	flooded func()
	closed  bool
}

// maxFlood is far more requests than an informer may make in a minute.
const maxFlood = 100

// request is a request that the informer's budget counts: any but further pages.
type request struct {
	target string
	at     time.Time
}

// change changes the world and sends the events to the watches.
func (s *server) change(change func(w *world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.world)
	for _, stream := range slices.Clone(s.streams) {
		stream.deliver()
	}
}

// restore ends all watches and restores the collection.
func (s *server) restore(n int, reached uint64) {
	s.closeStreams()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.restore(n, reached)
}

func (s *server) closeStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range slices.Clone(s.streams) {
		stream.close()
	}
}

func (s *server) bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range s.streams {
		stream.bookmark()
	}
}

func (s *server) inject(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// heal ends all faults of later requests.
func (s *server) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// arrive records a request and returns its faults and the number of restores so far.
func (s *server) arrive(target string, options metav1.ListOptions) (faults []fault, epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if target != targetPage {
		s.record(target)
	}
	for i := range s.faults {
		if f := &s.faults[i]; f.Target == target && f.Times != 0 {
			f.Times--
			faults = append(faults, *f)
			s.injected[f.Target+": "+f.Kind]++
		}
	}
	s.timeline("%s at %q, continue %q, WatchList %v, faults %v", target, options.ResourceVersion, options.Continue,
		options.SendInitialEvents != nil, faults)
	return faults, len(s.world.epochs)
}

// record records a request. The caller holds the mutex.
func (s *server) record(target string) {
	s.requests = append(s.requests, request{target, time.Now()})
	if n := len(s.requests) - maxFlood; n >= 0 && time.Since(s.requests[n].at) < time.Minute && !s.closed {
		s.closed = true
		s.flooded()
	}
}

// answer answers a request. With faultSlow, read is called before the wait, otherwise after it. A
// restore in between breaks the connection.
func answer[R any](ctx context.Context, s *server, target string, options metav1.ListOptions, read func([]fault) (R, error)) (result R, err error) {
	faults, epoch := s.arrive(target, options)
	if s.isClosed() {
		<-ctx.Done()
		return result, ctx.Err()
	}
	if err := refuse(faults); err != nil {
		return result, err
	}
	early := hasFault(faults, faultSlow)
	if early {
		s.mu.Lock()
		result, err = read(faults)
		s.mu.Unlock()
	}
	if waitErr := await(ctx, faults); waitErr != nil {
		return result, waitErr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.world.epochs) != epoch:
		return result, cachetest.ErrConnectionReset
	case early:
		return result, err
	}
	return read(faults)
}

func (s *server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// refuse returns the error of a request with faults, or panics.
func refuse(faults []fault) error {
	for _, f := range faults {
		if err := requestErrors[f.Kind]; err != nil {
			return err
		}
		if f.Kind == faultPanic {
			panic(errBad)
		}
	}
	return nil
}

// await waits as long as the faults of a request say.
func await(ctx context.Context, faults []fault) error {
	if hasFault(faults, faultHold) {
		<-ctx.Done()
	}
	if hasFault(faults, faultSlow) || hasFault(faults, faultLate) {
		select {
		case <-time.After(slowness):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func hasFault(faults []fault, kind string) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return f.Kind == kind })
}

// List implements cache.ListerWatcher.
func (s *server) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	target := targetList
	switch {
	case options.Continue != "":
		target = targetPage
	case options.Limit == 1 && options.ResourceVersion == "":
		target = targetProbe
	}
	return answer(ctx, s, target, options, func(faults []fault) (runtime.Object, error) {
		epoch, version, after, err := s.position(options, faults)
		if err != nil {
			return nil, err
		}
		list := s.page(epoch, version, after, options.Limit)
		if hasFault(faults, faultNoVersion) && parseVersion(options.ResourceVersion) > 0 {
			list.ResourceVersion = ""
		}
		if hasFault(faults, faultKind) {
			return &corev1.NodeList{ListMeta: list.ListMeta}, nil
		}
		return list, nil
	})
}

// lag is how many changes a replica lags behind.
const lag = 3

// position returns from which version, and after which key, a list is read.
func (s *server) position(options metav1.ListOptions, faults []fault) (e *epoch, version uint64, after string, err error) {
	e = s.world.present()
	asked := parseVersion(options.ResourceVersion)
	switch {
	case options.Continue != "":
		token := strings.SplitN(options.Continue, " ", 3)
		version = parseVersion(token[1])
		if token[0] != strconv.Itoa(len(s.world.epochs)) || version < e.compact {
			return nil, 0, "", fake.Expired()
		}
		return e, version, token[2], nil
	case asked > e.head:
		return nil, 0, "", fake.TooLargeResourceVersion()
	case hasFault(faults, faultLag) && options.ResourceVersion != "" && len(e.log) > lag:
		return e, max(e.log[len(e.log)-lag-1].version, e.compact), "", nil
	}
	return e, e.head, "", nil
}

// page returns a page of a list.
func (s *server) page(e *epoch, version uint64, after string, limit int64) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: formatVersion(version)}}
	objects := e.at(version)
	for _, key := range sortedKeys(objects) {
		if key <= after {
			continue
		}
		if limit > 0 && int64(len(list.Items)) == limit {
			last := list.Items[limit-1]
			list.Continue = fmt.Sprintf("%d %d %s/%s", len(s.world.epochs), version, last.Namespace, last.Name)
			break
		}
		list.Items = append(list.Items, *podOf(objects[key]))
	}
	return list
}

// Watch implements cache.ListerWatcher.
func (s *server) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return answer(ctx, s, targetWatch, options, func(faults []fault) (watch.Interface, error) {
		e := s.world.present()
		asked := parseVersion(options.ResourceVersion)
		initial := options.SendInitialEvents != nil && *options.SendInitialEvents
		if asked > 0 && asked < e.compact && !initial {
			return nil, fake.Expired()
		}
		if initial && asked > e.head {
			return nil, fake.TooLargeResourceVersion()
		}
		stream := newStream(s, faults, options, asked == 0 || initial)
		if stream.inList {
			stream.sendState(initial)
		}
		stream.deliver()
		return stream, nil
	})
}
