package informer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// thing is an object of the model: a life of a key, and a state in it.
type thing struct {
	key, uid string
	revision int // of the collection
	deleting bool
}

func (s *thing) String() string {
	if s == nil {
		return "nil"
	}
	return fmt.Sprintf("%s/%s@%d%v", s.key, s.uid, s.revision, s.deleting)
}

// happened is one change as it was made.
type happened struct {
	old, new *thing
	final    *thing // of a deletion: the state that came with it
	initial  bool   // in the first list
}

// model is the collection and everything that happened to it: the naive twin of the log.
type model struct {
	now    map[string]*thing
	lives  int
	rev    int
	events []happened
	listed bool // the informer has had the first list
}

func (m *model) next(key string, deleting bool) *thing {
	m.rev++
	uid := fmt.Sprint("uid", m.lives)
	if old := m.now[key]; old != nil {
		uid, deleting = old.uid, deleting || old.deleting
	} else {
		m.lives++
	}
	return &thing{key: key, uid: uid, revision: m.rev, deleting: deleting}
}

// write creates or updates.
func (m *model) write(key string, deleting bool) (watch.EventType, *thing) {
	eventType := watch.Modified
	if m.now[key] == nil {
		eventType = watch.Added
	}
	s := m.next(key, deleting)
	if m.listed {
		m.events = append(m.events, happened{old: m.now[key], new: s})
	}
	m.now[key] = s
	return eventType, s
}

// remove deletes what is there.
func (m *model) remove(key string) *thing {
	final := m.next(key, false)
	m.events = append(m.events, happened{old: m.now[key], final: final})
	delete(m.now, key)
	return final
}

func thingItem(s *thing) feed.Item {
	// The object travels as bytes only because feed.Item carries no others.
	return feed.Item{Key: s.key, UID: s.uid, ResourceVersion: fmt.Sprint(s.revision), Codec: nil, Raw: fmt.Appendf(nil, "%s %s %d %v", s.key, s.uid, s.revision, s.deleting)}
}

func thingStore() store.Config[*thing] {
	return store.Config[*thing]{
		Key:      func(s *thing) (string, error) { return s.key, nil },
		ItemKeys: true,
		Identity: func(s *thing) (string, string) { return s.uid, fmt.Sprint(s.revision) },
		Decode: func(item feed.Item) (*thing, error) {
			s := &thing{}
			_, err := fmt.Sscan(string(item.Raw), &s.key, &s.uid, &s.revision, &s.deleting)
			return s, err
		},
		Report: func(string, error) {},
	}
}

// step is one step of a program. Those of no key or handler do without.
type step struct {
	Verb    string // write, finish (sets deletionTimestamp), delete, recreate, relist, add, stall, resume, stop, settle
	Key     int
	Handler int
	Kind    int
}

func (s step) String() string { return fmt.Sprintf("%s(%d,%d,%d)", s.Verb, s.Key, s.Handler, s.Kind) }

const (
	modelKeys     = 4
	modelHandlers = 6
)

func programs() *rapid.Generator[[]step] {
	verbs := []string{"write", "write", "write", "write", "finish", "finish", "delete", "delete", "recreate", "relist",
		"add", "add", "stall", "stall", "resume", "stop", "settle", "settle"}
	one := rapid.Custom(func(t *rapid.T) step {
		return step{
			Verb:    rapid.SampledFrom(verbs).Draw(t, "verb"),
			Key:     rapid.IntRange(0, modelKeys-1).Draw(t, "key"),
			Handler: rapid.IntRange(0, modelHandlers-1).Draw(t, "handler"),
			Kind:    rapid.IntRange(0, 4).Draw(t, "kind"),
		}
	})
	return rapid.SliceOfN(one, 60, 200) // left to itself it draws six at a time
}

// witness is a handler that remembers what it was told, and may be stalled.
type witness struct {
	handler atomic.Pointer[Handler[*thing]]
	kind    int
	from    int               // events of the model before it came
	began   map[string]*thing // what there was then
	gate    atomic.Pointer[chan struct{}]

	mu   sync.Mutex // guards what follows
	told []Event[*thing]
	keys []string
	soon bool // synced before it was told the first state
}

func (w *witness) pass() {
	if gate := w.gate.Load(); gate != nil {
		<-*gate
	}
}

func (w *witness) stall() {
	gate := make(chan struct{})
	w.gate.CompareAndSwap(nil, &gate)
}

func (w *witness) resume() {
	if gate := w.gate.Swap(nil); gate != nil {
		close(*gate)
	}
}

// config is the kth way of being told.
func (w *witness) config(name string) HandlerConfig[*thing] {
	config := HandlerConfig[*thing]{Name: name}
	note := func(events ...Event[*thing]) {
		w.mu.Lock()
		w.told = append(w.told, events...)
		if h := w.handler.Load(); h != nil && events[0].InInitial && h.HasSynced() {
			w.soon = true
		}
		w.mu.Unlock()
		w.pass()
	}
	switch w.kind {
	case 0:
		config.OnEvent = func(e Event[*thing]) { note(e) }
	case 1:
		config.OnEvent, config.Delivery = func(e Event[*thing]) { note(e) }, EveryEvent
	case 2:
		config.OnBatch = func(events []Event[*thing]) { note(events...) }
	case 3:
		config.OnEvent, config.WithoutOld = func(e Event[*thing]) { note(e) }, true
	default:
		config.OnKey = func(key string) {
			w.mu.Lock()
			w.keys = append(w.keys, key)
			w.mu.Unlock()
			w.pass()
		}
	}
	return config
}

// stage runs a program against an informer and its model.
type stage struct {
	*Informer[*thing]
	model     model
	key       func(int) string
	witnesses [modelHandlers]*witness
	gone      []*witness
	problems  []string
}

// run runs a program, in which the first list comes before the step called first.
func (st *stage) run(program []step, first int) {
	for i, s := range program {
		if i == first {
			for _, state := range st.model.now {
				st.model.events = append(st.model.events, happened{new: state, initial: true})
			}
			st.model.listed = true
			st.relist()
		}
		st.step(s)
	}
	for _, w := range st.witnesses {
		if w != nil {
			w.resume()
		}
	}
	synctest.Wait()
}

func (st *stage) step(s step) {
	key, w := st.key(s.Key), st.witnesses[s.Handler]
	exists := st.model.now[key] != nil
	if !st.model.listed {
		switch s.Verb {
		case "write":
			st.model.write(key, false)
			return
		case "finish", "delete", "recreate", "relist":
			return
		}
	}
	switch s.Verb {
	case "write", "finish":
		eventType, state := st.model.write(key, s.Verb == "finish" && exists)
		st.intake.Apply(eventType, thingItem(state))
	case "delete", "recreate":
		if exists {
			st.intake.Apply(watch.Deleted, thingItem(st.model.remove(key)))
		}
		if s.Verb == "recreate" {
			eventType, state := st.model.write(key, false)
			st.intake.Apply(eventType, thingItem(state))
		}
	case "relist":
		st.change(s)
		st.relist()
	case "settle":
		synctest.Wait()
	case "add":
		if w == nil {
			st.add(s)
		}
	case "stall", "resume", "stop":
		if w != nil {
			st.handle(s, w)
		}
	}
}

// change makes changes that only a list shows: deletions first, as the store tells them.
func (st *stage) change(s step) {
	for i := range modelKeys {
		if key := st.key(i); st.model.now[key] != nil && (s.Key+i)%3 == 0 {
			st.model.events = append(st.model.events, happened{old: st.model.now[key]})
			delete(st.model.now, key)
		}
	}
	for i := range modelKeys {
		if (s.Handler+i)%2 == 0 {
			st.model.write(st.key(i), false)
		}
	}
}

func (st *stage) relist() {
	st.model.rev++
	state := st.intake.Begin()
	for i := range modelKeys {
		if s := st.model.now[st.key(i)]; s != nil {
			state.Add(thingItem(s))
		}
	}
	state.Commit(fmt.Sprint(st.model.rev))
}

func (st *stage) add(s step) {
	w := &witness{kind: s.Kind, from: len(st.model.events), began: make(map[string]*thing)}
	for key, state := range st.model.now {
		if st.model.listed {
			w.began[key] = state
		}
	}
	h, err := st.Add(w.config(fmt.Sprint(s)))
	if err != nil {
		st.problems = append(st.problems, err.Error())
		return
	}
	w.handler.Store(h)
	st.witnesses[s.Handler] = w
}

func (st *stage) handle(s step, w *witness) {
	switch s.Verb {
	case "stall":
		w.stall()
	case "resume":
		w.resume()
	case "stop":
		w.handler.Load().Remove()
		w.resume()
		if err := w.handler.Load().Stop(context.Background()); err != nil {
			st.problems = append(st.problems, err.Error())
		}
		st.gone = append(st.gone, w)
		st.witnesses[s.Handler] = nil
	}
}

// TestDeliveryAgainstAList runs random programs of writes, lists, and handlers that come,
// stall and go, and compares what each handler was told with a plain list of what
// happened: everything, in order for each object, joined where the rules allow it and
// nowhere else.
func TestDeliveryAgainstAList(t *testing.T) {
	var joined atomic.Uint64
	for range 20 { // times the hundred that rapid tries
		rapid.Check(t, func(rt *rapid.T) { tryProgram(t, rt, &joined) })
	}
	if joined.Load() == 0 {
		t.Error("no program joined anything")
	}
}

func tryProgram(t *testing.T, rt *rapid.T, joined *atomic.Uint64) {
	t.Helper()
	program := programs().Draw(rt, "program")
	behind := uint64(rapid.IntRange(1, 12).Draw(rt, "behind"))
	hand := rapid.IntRange(1, 4).Draw(rt, "hand")
	first := rapid.IntRange(0, len(program)/4).Draw(rt, "first")
	var problems []string
	synctest.Test(t, func(t *testing.T) {
		st := &stage{
			key: func(i int) string { return fmt.Sprint("key", i) },
			Informer: New(Config[*thing]{
				Name: "things", Store: thingStore(), CoalesceThreshold: behind,
				Reflector: reflector.Config{Source: noSource{}},
				Terminating:  func(s *thing) bool { return s.deleting },
				hand:      hand,
			}),
		}
		st.model.now = make(map[string]*thing)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- st.Run(ctx) }()
		synctest.Wait()
		st.run(program, first)
		for _, w := range st.witnesses {
			if w != nil {
				st.check(w, true)
				joined.Add(w.handler.Load().Status().Coalesced)
			}
		}
		for _, w := range st.gone {
			st.check(w, false)
		}
		cancel()
		if err := <-stopped; err != nil {
			st.problems = append(st.problems, err.Error())
		}
		problems = st.problems
	})
	if len(problems) > 0 {
		rt.Fatal(strings.Join(problems, "\n"))
	}
}

func (st *stage) problem(w *witness, format string, args ...any) {
	st.problems = append(st.problems, fmt.Sprintf("%s: %s", w.handler.Load().config.Name, fmt.Sprintf(format, args...)))
}

// check compares what a handler was told with what happened. One that was stopped may
// have been told less.
func (st *stage) check(w *witness, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind == 4 {
		st.checkKeys(w, whole)
		return
	}
	happened := make(map[string][]happened)
	for _, e := range st.model.events[w.from:] {
		key := keyOf(e)
		happened[key] = append(happened[key], e)
	}
	last := make(map[string]*thing)
	for _, e := range w.told {
		if e.InInitial && w.began[e.Key] != nil {
			if e.Type != Add || last[e.Key] != nil || e.New.String() != w.began[e.Key].String() {
				st.problem(w, "the initial %v of %v, where %v was", e.Type, e.New, w.began[e.Key])
			}
			last[e.Key] = e.New
			delete(w.began, e.Key)
			continue
		}
		n := 1 + e.Coalesced
		if n > len(happened[e.Key]) || n > 1 && w.kind == 1 {
			st.problem(w, "told of %d events of %s, where %d happened", n, e.Key, len(happened[e.Key]))
			return
		}
		st.checkEvent(w, e, happened[e.Key][:n], last[e.Key])
		happened[e.Key] = happened[e.Key][n:]
		last[e.Key] = e.New
	}
	if w.soon {
		st.problem(w, "synced before it was told the first state")
	}
	if !whole {
		return
	}
	for key, rest := range happened {
		if len(rest) > 0 {
			st.problem(w, "not told of %d events of %s", len(rest), key)
		}
	}
	if len(w.began) > 0 {
		st.problem(w, "not told that there were %v", w.began)
	}
	if !w.handler.Load().HasSynced() || w.handler.Load().Status().Backlog != 0 {
		st.problem(w, "at the end: %+v", w.handler.Load().Status())
	}
}

func keyOf(e happened) string {
	if e.new != nil {
		return e.new.key
	}
	return e.old.key
}

// checkEvent requires an event to be what these changes are together, and that they may
// be told as one.
func (st *stage) checkEvent(w *witness, e Event[*thing], changes []happened, told *thing) {
	first, latest := changes[0], changes[len(changes)-1]
	for i, c := range changes[1:] {
		before := changes[i]
		switch {
		case before.new == nil:
			st.problem(w, "%s: a deletion joined with what came after it", e.Key)
		case first.old == nil && c.new == nil:
			st.problem(w, "%s: an addition joined with its deletion", e.Key)
		case first.old == nil && c.new.deleting && !before.new.deleting:
			st.problem(w, "%s: an addition joined with the update that sets deletionTimestamp", e.Key)
		}
	}
	want := Update
	switch {
	case latest.new == nil:
		want = Delete
	case first.old == nil:
		want = Add
	}
	final := latest.final
	if final == nil {
		final = latest.old
	}
	switch {
	case e.InInitial != first.initial:
		st.problem(w, "%s: initial %v, and was %v", e.Key, e.InInitial, first.initial)
	case e.Type != want:
		st.problem(w, "%s: told as %v, not %v", e.Key, e.Type, want)
	case e.New.String() != latest.new.String():
		st.problem(w, "%s: told of %v, not %v", e.Key, e.New, latest.new)
	case want == Delete && e.Final.String() != final.String():
		st.problem(w, "%s: the last state is %v, not %v", e.Key, e.Final, final)
	case want == Update && w.kind == 3 && e.Old != nil:
		st.problem(w, "%s: an old state that was not asked for", e.Key)
	case want != Add && w.kind != 3 && e.Old != told:
		st.problem(w, "%s: from %v, told last was %v", e.Key, e.Old, told)
	}
}

// checkKeys requires that a handler of keys was called for each that there was, and after
// the last change of each.
func (st *stage) checkKeys(w *witness, whole bool) {
	calls := make(map[string]int)
	for _, key := range w.keys {
		calls[key]++
	}
	most := make(map[string]int)
	for key := range w.began {
		most[key]++
	}
	for _, e := range st.model.events[w.from:] {
		most[keyOf(e)]++
	}
	for key, n := range most {
		if calls[key] > n || whole && calls[key] == 0 {
			st.problem(w, "%d calls for %s, for %d reasons", calls[key], key, n)
		}
	}
}
