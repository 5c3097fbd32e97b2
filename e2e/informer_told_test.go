package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/cache"
)

// state is one state of one object: no two of a cluster's history have both in common.
type state struct {
	uid     types.UID
	version string // gone once the object is
}

// gone is the version of the state after a deletion.
const gone = "gone"

func stateOf(obj metav1.Object) state { return state{obj.GetUID(), obj.GetResourceVersion()} }

// told is what a consumer was told, and what it makes of it. It holds the consumer's side of the contract: an addition is
// of what was not there, an update of what was, each state is later than the one before.
type told struct {
	mu      sync.Mutex
	now     map[string]state   // by key: the fold of all that was told
	states  map[string][]state // by key, in order; without those that only mark an object for deletion
	initial int                // additions of the initial list
	wrong   []string           // what broke the rules
	back    bool               // versions may go back: etcd is to be restored
	changed chan struct{}      // closed with the next event
}

func newTold() *told {
	return &told{now: map[string]state{}, states: map[string][]state{}, changed: make(chan struct{})}
}

// mayGoBack lifts the rule that versions grow, and gives more time to find out.
func (r *told) mayGoBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.back = true
}

// added, updated and deleted are what a handler is told.
func (r *told) added(key string, obj metav1.Object, initial bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.now[key]; ok {
		r.object("addition of %s at %v, which was there at %v", key, stateOf(obj), old)
	}
	if initial {
		r.initial++
	}
	r.put(key, obj)
}

func (r *told) updated(key string, from, to metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.now[key]
	switch {
	case !ok:
		r.object("update of %s to %v, which was not there", key, stateOf(to))
	case old != stateOf(from):
		r.object("update of %s from %v; the last that was told is %v", key, stateOf(from), old)
	case old.uid != to.GetUID():
		r.object("update of %s from %v to another object, %v", key, old, stateOf(to))
	case !r.later(old.version, to.GetResourceVersion()):
		r.object("update of %s from %v to %v, which is no later", key, old, stateOf(to))
	}
	r.put(key, to)
}

func (r *told) deleted(key string, last metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.now[key]
	switch {
	case !ok:
		r.object("deletion of %s, which was not there", key)
	case old.uid != last.GetUID():
		r.object("deletion of %s as %v; there was %v", key, stateOf(last), old)
	case old.version != last.GetResourceVersion() && !r.later(old.version, last.GetResourceVersion()):
		r.object("deletion of %s in the state %v, which is before %v", key, stateOf(last), old)
	}
	delete(r.now, key)
	r.states[key] = append(r.states[key], state{last.GetUID(), gone})
	r.signal()
}

func (r *told) put(key string, obj metav1.Object) {
	r.now[key] = stateOf(obj)
	if obj.GetDeletionTimestamp() == nil {
		r.states[key] = append(r.states[key], stateOf(obj))
	}
	r.signal()
}

func (r *told) later(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && (order < 0 || r.back && order != 0)
}

func (r *told) object(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func (r *told) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// fold is what a consumer holds that has done as it was told, and a channel that is closed when that changes.
func (r *told) fold() (map[string]state, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.now), r.changed
}

// history is what was told of a key.
func (r *told) history(key string) []state {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states[key])
}

// check fails the test if a rule was broken.
func (r *told) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) > 0 {
		t.Errorf("%d events break the rules, the first:\n%s", len(r.wrong), strings.Join(r.wrong[:min(10, len(r.wrong))], "\n"))
	}
}

// await waits until the fold is what it has to be.
func (r *told) await(t *testing.T, want map[string]state) {
	t.Helper()
	limit := nearPatience
	if r.back {
		limit = farPatience
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		now, changed := r.fold()
		if maps.Equal(now, want) {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("after %s what was told comes to something else than what the server has:\n%s", limit, difference(now, want))
		}
	}
}

// How long what was told may take to come to what the server has.
const (
	// nearPatience covers the longest wait between two attempts, and a server that starts.
	nearPatience = 90 * time.Second
	// farPatience is for a restored etcd: a server that says nothing is asked after two minutes and a half at most.
	farPatience = 4 * time.Minute
)

// difference says how two sets of objects differ, in ten lines at most.
func difference(got, want map[string]state) string {
	var lines []string
	for key, state := range want {
		if got[key] != state {
			lines = append(lines, fmt.Sprintf("%s is %v, want %v", key, got[key], state))
		}
	}
	for key, state := range got {
		if _, ok := want[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s is %v, want none", key, state))
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d objects, want %d; %d differ\n%s", len(got), len(want), len(lines), strings.Join(lines[:min(10, len(lines))], "\n"))
}

// toldHandler is the handler of an informer that records.
type toldHandler[T cache.Object] struct{ *told }

func (h toldHandler[T]) OnEvent(event cache.Event[T]) {
	switch event.Type {
	case cache.EventAdd:
		h.added(event.Key, event.New, event.InInitialList)
	case cache.EventUpdate:
		h.updated(event.Key, event.Old, event.New)
	case cache.EventDelete:
		h.deleted(event.Key, event.Old)
	}
}

// toldStore is a store that records what a reflector does to it, in a handler's terms.
type toldStore[T cache.Object] struct {
	cache.Store[T]
	*told
	replaced int // guarded by told.mu
}

func (s *toldStore[T]) Add(obj T) error    { return s.set(obj, s.Store.Add) }
func (s *toldStore[T]) Update(obj T) error { return s.set(obj, s.Store.Update) }

func (s *toldStore[T]) set(obj T, write func(T) error) error {
	old, exists, err := s.Get(obj)
	if err == nil {
		err = write(obj)
	}
	if err == nil {
		s.tell(old, exists, obj, false)
	}
	return err
}

// tell tells of a change, as an informer does.
func (s *toldStore[T]) tell(old T, exists bool, obj T, initial bool) {
	key := keyOf(obj)
	switch {
	case !exists:
		s.added(key, obj, initial)
	case old.GetUID() == obj.GetUID():
		s.updated(key, old, obj)
	default:
		s.deleted(key, old)
		s.added(key, obj, initial)
	}
}

func (s *toldStore[T]) Delete(obj T) error {
	err := s.Store.Delete(obj)
	if err == nil {
		s.deleted(keyOf(obj), obj)
	}
	return err
}

func (s *toldStore[T]) Replace(objs []T, resourceVersion string) error {
	before := s.Snapshot()
	if err := s.Store.Replace(objs, resourceVersion); err != nil {
		return err
	}
	s.mu.Lock()
	s.replaced++
	initial := s.replaced == 1
	s.mu.Unlock()
	kept := map[string]bool{}
	for _, obj := range objs {
		key := keyOf(obj)
		kept[key] = true
		old, exists := before.GetByKey(key)
		if !exists || stateOf(old) != stateOf(obj) {
			s.tell(old, exists, obj, initial)
		}
	}
	for key, old := range before.All() {
		if !kept[key] {
			s.deleted(key, old)
		}
	}
	return nil
}

func keyOf(obj metav1.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}
