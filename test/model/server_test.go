// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// server answers requests from a world.
type server struct {
	functions *functions // of the informer
	timeline  func(format string, arguments ...any)

	mu       sync.Mutex // guards the fields below
	world    *world
	replicas []replica
	current  int           // the replica that answers further requests
	changed  chan struct{} // closed at the next change
	requests []request
	faults   []fault
	streams  []*stream
	watched  bool // from a version, which the informer then has
	answered bool // a watch that is no WatchList
	noMatch  bool // lists with resourceVersionMatch are refused
	skewed   bool // the replicas are of two minor versions
	// The newest version that a list, or the initial events of a watch, have had, and in how many
	// epochs. Later changes came by watches.
	listVersion uint64
	listEpoch   int
	// The lists of the most recent state after the first list, and those of them that follow no
	// list which failed.
	consistent, unexplained int
	listFailed              bool // the last one
	written                 map[write]time.Time
	gone                    bool           // the last watch was answered with 410
	injected                map[string]int // how many requests had a fault, by fault.id
	heals                   int            // how often all faults were healed
	network                 *network       // over which the informer reads; nil if it calls List and Watch
	// flooded is called when there are more than maxFlood requests within a minute. Later requests
	// are not answered, as the program would never end.
	flooded func()
	closed  bool

	availability availability
}

// write is a version that was written after a number of restores.
type write struct {
	restores int
	version  uint64
}

func newServer(o options, note func(format string, arguments ...any)) *server {
	s := &server{
		functions: newFunctions(o, note), timeline: note, world: newWorld(o.Start), flooded: func() {}, replicas: make([]replica, max(1, o.Replicas)),
		changed: make(chan struct{}), injected: make(map[string]int), written: make(map[write]time.Time),
	}
	s.world.sameUID, s.noMatch, s.skewed = o.SameUID, o.NoMatch, o.Skewed
	s.availability = newAvailability(o.Served, o.Pending)
	s.resetReplicas()
	return s
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
	before := s.world.present().head
	change(s.world)
	if head := s.world.present().head; head != before { // the deletion of an object that does not exist writes nothing
		s.written[write{len(s.world.epochs) - 1, head}] = time.Now()
	}
	for _, stream := range slices.Clone(s.streams) {
		stream.deliver()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// restore ends all watches, with what has not been read of them, and restores the collection. If
// how is not empty, the collection's version is past the one that was reached before any request is
// answered.
func (s *server) restore(n int, reached uint64, how string, pattern int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range slices.Clone(s.streams) {
		stream.discard()
		stream.close()
	}
	lost := s.world.restore(n, reached)
	s.resetReplicas()
	restored := s.world.present().head
	if how != "" {
		s.world.overtake(lost, reached, pattern)
	}
	for i := range s.replicas {
		switch how {
		case overtakeRestarted:
			s.replicas[i].compact = restored
		case overtakeExpired:
			s.replicas[i].compact = s.world.present().head
		}
	}
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
	for _, stream := range slices.Clone(s.streams) { // a fault may close one
		stream.bookmark()
	}
}

func (s *server) inject(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// heal ends all faults of later requests, and the lag of the replicas.
func (s *server) heal() {
	s.change(func(*world) {
		s.faults, s.heals = nil, s.heals+1
		for i := range s.replicas {
			s.replicas[i].lags = false
		}
		s.updateReplicas()
	})
}

// arrival is what is known of a request when it arrives.
type arrival struct {
	faults  []fault
	epoch   int // the number of restores so far
	replica int
	needed  uint64 // the version that the replica must have
}

// arrive records a request.
func (s *server) arrive(target string, options metav1.ListOptions) arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	if target != targetPage && s.network == nil {
		s.record(target)
	}
	a := arrival{epoch: len(s.world.epochs), replica: s.current, needed: s.needed(target, options)}
	for i := range s.faults {
		if f := &s.faults[i]; f.Target == target && f.Times != 0 {
			f.Times--
			a.faults = append(a.faults, *f)
			s.injected[f.id()]++
		}
	}
	s.timeline("%s at %q, continue %q, WatchList %v, replica %d, faults %v", target, options.ResourceVersion, options.Continue,
		options.SendInitialEvents != nil, a.replica, a.faults)
	return a
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
func answer[R any](ctx context.Context, s *server, target string, options metav1.ListOptions, read func(arrival) (R, error)) (result R, err error) {
	a := s.arrive(target, options)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.availability.answered(err)
	}()
	if faults, ok := ctx.Value(faultsKey{}).(*[]fault); ok {
		*faults = a.faults
	}
	if s.isClosed() {
		<-ctx.Done()
		return result, ctx.Err()
	}
	if err := refuse(a.faults); err != nil {
		return result, err
	}
	if err := s.awaitVersion(ctx, a); err != nil {
		return result, err
	}
	early := hasFault(a.faults, faultSlow)
	if early {
		s.mu.Lock()
		result, err = readServed(s, a, read)
		s.mu.Unlock()
	}
	if waitErr := await(ctx, a.faults); waitErr != nil {
		return result, waitErr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.world.epochs) != a.epoch:
		return result, cachetest.ErrConnectionReset
	case early:
		return result, err
	}
	return readServed(s, a, read)
}

// readServed answers a request that has arrived, with 404 if the replica does not serve the
// resource. The caller holds the mutex.
func readServed[R any](s *server, a arrival, read func(arrival) (R, error)) (result R, err error) {
	if s.replicas[a.replica].absent {
		return result, errNoResource
	}
	return read(a)
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

// targetOf returns the target of a request.
func targetOf(options metav1.ListOptions) string {
	switch {
	case options.Watch:
		return targetWatch
	case options.Continue != "":
		return targetPage
	case options.Limit == 1 && options.ResourceVersion == "":
		return targetProbe
	}
	return targetList
}

// List implements cache.ListerWatcher.
func (s *server) List(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
	faulty, panicked := false, true
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listFailed = err != nil || faulty || panicked
	}()
	list, err = answer(ctx, s, targetOf(options), options, func(a arrival) (runtime.Object, error) {
		faulty = len(a.faults) > 0
		epoch, version, after, err := s.position(options, a)
		if err != nil {
			return nil, err
		}
		s.countConsistent(options)
		s.listed(version)
		list := s.page(epoch, version, after, options.Limit, a.replica)
		if hasFault(a.faults, faultNoVersion) && s.watched && parseVersion(options.ResourceVersion) > 0 {
			list.ResourceVersion = ""
		}
		if hasFault(a.faults, faultKind) {
			return &corev1.NodeList{ListMeta: list.ListMeta}, nil
		}
		return list, nil
	})
	panicked = false
	return list, err
}

// staleness is how many changes a list with faultLag lacks.
const staleness = 3

// position returns from which version, and after which key, a list is read.
func (s *server) position(options metav1.ListOptions, a arrival) (e *epoch, version uint64, after string, err error) {
	e = s.world.present()
	switch {
	case s.noMatch && options.ResourceVersionMatch != "":
		return nil, 0, "", apierrors.NewBadRequest("unknown parameter resourceVersionMatch")
	case options.Continue != "":
		token := strings.SplitN(options.Continue, " ", 3)
		version = parseVersion(token[1])
		if token[0] != strconv.Itoa(len(s.world.epochs)) || version < e.compact {
			return nil, 0, "", fake.Expired()
		}
		return e, version, token[2], nil
	case isExact(options):
		return s.exact(e, parseVersion(options.ResourceVersion))
	case a.needed > s.headOf(a.replica):
		return nil, 0, "", fake.TooLargeResourceVersion()
	case options.ResourceVersion == "": // read from etcd
		return e, e.head, "", nil
	case hasFault(a.faults, faultLag) && len(e.log) > staleness:
		return e, max(e.log[len(e.log)-staleness-1].version, e.compact), "", nil
	}
	return e, s.headOf(a.replica), "", nil
}

// isExact reports whether a list has exactly the version that it asks for. One with a limit does,
// unless it says otherwise.
func isExact(options metav1.ListOptions) bool {
	return options.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		options.ResourceVersionMatch == "" && options.Limit > 0 && parseVersion(options.ResourceVersion) > 0 && options.Continue == ""
}

// exact returns an exact version, which is read from etcd.
func (s *server) exact(e *epoch, version uint64) (*epoch, uint64, string, error) {
	switch {
	case version > e.head:
		return nil, 0, "", fake.TooLargeResourceVersion()
	case version < e.compact:
		return nil, 0, "", fake.Expired()
	}
	return e, version, "", nil
}

// listed records that the informer has received a state as a list, or as the initial events of a
// watch.
func (s *server) listed(version uint64) {
	if epoch := len(s.world.epochs); s.listEpoch != epoch {
		s.listEpoch, s.listVersion = epoch, 0
	}
	s.listVersion = max(s.listVersion, version)
}

// forgets reports whether an informer that watches from a version has forgotten its last changes:
// the watch before was answered with 410, and the last change is older than a server keeps changes
// in any case. That the server does not have them is then no sign of a restore.
func (s *server) forgets(version uint64) bool {
	if !s.gone || s.listEpoch == 0 {
		return false
	}
	var last time.Time
	for _, change := range s.world.epochs[s.listEpoch-1].since(s.listVersion) {
		if change.version <= version && change.bad == "" {
			last = s.written[write{s.listEpoch - 1, change.version}]
		}
	}
	return time.Since(last) > 75*time.Second
}

// resume answers a request for a watch from a version. An informer that has forgotten its last
// changes need not notice that a restore has undone them (contract 3): the server answers it with
// 410.
func (s *server) resume(version uint64) error {
	if !s.forgets(version) {
		return nil
	}
	if s.listEpoch != len(s.world.epochs) {
		return fake.Expired()
	}
	s.listVersion = max(s.listVersion, version)
	return nil
}

// countConsistent counts a list, or initial events, of the most recent state after the first list.
func (s *server) countConsistent(options metav1.ListOptions) {
	isList := targetOf(options) == targetList || options.SendInitialEvents != nil
	if options.ResourceVersion != "" || !isList || s.listEpoch == 0 {
		return
	}
	s.consistent++
	if s.watched && !s.listFailed {
		s.unexplained++
	}
}

// page returns a page of a list.
func (s *server) page(e *epoch, version uint64, after string, limit int64, replica int) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: formatVersion(version)}}
	objects := e.at(version)
	for _, key := range sortedKeys(objects) {
		if key <= after {
			continue
		}
		if limit > 0 && int64(len(list.Items)) == limit {
			last := list.Items[limit-1]
			list.Continue = fmt.Sprintf("%d %s %s/%s", len(s.world.epochs), formatVersion(version), last.Namespace, last.Name)
			break
		}
		list.Items = append(list.Items, *s.show(replica, objects[key]))
	}
	return list
}

// Watch implements cache.ListerWatcher.
func (s *server) Watch(ctx context.Context, options metav1.ListOptions) (w watch.Interface, err error) {
	var faults []fault
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answered = s.answered || options.SendInitialEvents == nil
		s.listFailed = s.listFailed || options.SendInitialEvents != nil && (err != nil || len(faults) > 0)
		s.gone = apierrors.IsResourceExpired(err) || hasFault(faults, "410 in stream") || err != nil && s.gone
	}()
	return answer(ctx, s, targetWatch, options, func(a arrival) (watch.Interface, error) {
		s.countConsistent(options)
		asked := parseVersion(options.ResourceVersion)
		initial := options.SendInitialEvents != nil && *options.SendInitialEvents
		s.watched = s.watched || asked > 0 && !initial
		faults = a.faults
		if asked > 0 && !initial {
			if asked < s.replicas[a.replica].compact {
				return nil, fake.Expired()
			}
			if err := s.resume(asked); err != nil {
				return nil, err
			}
		}
		if initial && a.needed > s.headOf(a.replica) {
			return nil, fake.TooLargeResourceVersion()
		}
		stream := newStream(s, a, options, asked == 0 || initial)
		if stream.inList {
			stream.sendState(initial)
		}
		stream.deliver()
		return stream, nil
	})
}
