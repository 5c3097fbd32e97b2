package model_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// execution is one run of a program.
type execution struct {
	program  program
	server   *server
	subject  subject
	handlers []*recorder
	stop     context.CancelFunc
	result   chan error // of Run
	running  bool
	stopped  bool
	waits    sync.WaitGroup

	epoch   int    // that the store shows
	reached uint64 // the version of the store after the last step
	last    view   // the store after the last step

	mu        sync.Mutex // guards the fields below
	violation *violation
	verbose   bool
	lines     []string // what happened, if verbose
	checks    int
	simulated time.Duration
	began     time.Time
}

// checked counts a check of an invariant.
func (x *execution) checked() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checks++
}

// violation is an invariant that did not hold.
type violation struct{ invariant, text string }

func (v *violation) String() string { return v.invariant + ": " + v.text }

// execute runs a program in a bubble of its own. The bubble panics if goroutines remain.
func execute(t *testing.T, p program, verbose bool) (x *execution) {
	t.Helper()
	x = &execution{program: p, verbose: verbose}
	defer func() {
		if v := recover(); v != nil {
			x.fail("goroutines", "%v", v)
		}
	}()
	synctest.Test(t, func(t *testing.T) { x.run(t.Context()) })
	return x
}

func (x *execution) run(ctx context.Context) {
	x.began = time.Now()
	o := x.program.Options
	x.server = &server{world: newWorld(o.Start), injected: make(map[string]int), timeline: x.note, flooded: x.failRate}
	x.server.world.sameUID = o.SameUID
	x.subject = newSubject(x.server, o, func(_ context.Context, err error) { x.note("error: %v", err) })
	ctx, x.stop = context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	defer x.stop()
	x.result = make(chan error, 1)
	if o.Bookmarks > 0 {
		go x.bookmarks(ctx)
	}
	for _, s := range x.program.Steps {
		x.note("--- %v", s)
		x.step(ctx, s)
		synctest.Wait()
		x.checkStore()
		if x.violated() {
			break
		}
	}
	x.end()
	x.simulated = time.Since(x.began)
}

func (x *execution) bookmarks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(x.program.Options.Bookmarks):
			x.server.bookmark()
		}
	}
}

// step executes a step.
func (x *execution) step(ctx context.Context, s step) {
	switch s.Op {
	case opPut, opDelete, opRecreate, opSkip, opCompact:
		x.server.change(func(w *world) { changeWorld(w, s) })
	case opRestore:
		x.server.restore(s.N, x.reached)
	case opBookmark:
		x.server.bookmark()
	case opClose:
		x.server.closeStreams()
	case opFault:
		x.server.inject(*s.Fault)
	case opHeal:
		x.server.heal()
	case opAdvance:
		cachetest.Advance(s.For)
	default:
		x.stepInformer(ctx, s)
	}
}

func changeWorld(w *world, s step) {
	switch s.Op {
	case opPut:
		for range s.N {
			w.put(s.Key, s.Bad, 1)
		}
	case opDelete:
		w.remove(s.Key, 1)
	case opRecreate:
		w.remove(s.Key, 1)
		w.put(s.Key, s.Bad, 1)
	case opSkip:
		w.skip(uint64(s.N))
	case opCompact:
		w.compactAll()
	}
}

// stepInformer executes a step of the program that has the informer.
func (x *execution) stepInformer(ctx context.Context, s step) {
	switch s.Op {
	case opRun:
		if !x.running {
			x.running = true
			go func() { x.result <- x.subject.Run(ctx) }()
		}
	case opAdd:
		x.addHandler(*s.Handler)
	case opRemove:
		x.removeHandler(s.N)
	case opUnblock:
		if s.N < len(x.handlers) {
			x.handlers[s.N].unblock()
		}
	case opWait:
		x.wait(ctx)
	case opStop:
		x.stopInformer()
	case opQuiesce:
		x.quiesce()
	}
}

func (x *execution) addHandler(spec handlerSpec) {
	r := newRecorder(x, len(x.handlers), spec)
	added, err := x.subject.add(r)
	if (err != nil) != x.stopped {
		x.fail("handler", "handler added, stopped %v: %v", x.stopped, err)
	}
	if err == nil {
		r.registration = added
		x.handlers = append(x.handlers, r)
	}
}

// removeHandler removes a handler. None of its calls begins afterwards.
func (x *execution) removeHandler(n int) {
	if n >= len(x.handlers) {
		return
	}
	r := x.handlers[n]
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.remove(ctx); err != nil && !errors.Is(err, cache.ErrHandlerBlocked) {
		x.fail("handler", "%s removed: %v", r.name, err)
	}
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = true
}

// wait waits in the background until the store has seen the last write.
func (x *execution) wait(ctx context.Context) {
	log := x.server.world.present().log
	if len(log) == 0 || x.server.world.ceiling != 0 { // versions mean nothing before a restore is noticed
		return
	}
	last, restores := log[len(log)-1], len(x.server.world.epochs)
	wait := x.subject.waitFor
	if last.deleted {
		wait = x.subject.waitForDelete
	}
	x.waits.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		err := wait(ctx, podOf(last))
		if x.program.Options.Adapter {
			<-time.After(time.Nanosecond) // its LastSyncResourceVersion follows the store
		}
		x.server.mu.Lock()
		defer x.server.mu.Unlock()
		version := parseVersion(x.subject.view().version)
		x.note("waited for %v: %v, at %d", last, err, version)
		switch {
		case restores != len(x.server.world.epochs):
		case err == nil && version < last.version:
			x.fail("wait", "the wait for %v returned at %d", last, version)
		case errors.Is(err, cache.ErrNotStored) && !x.server.world.hasKept(last):
			x.fail("wait", "the wait for %v returned %v", last, err)
		}
	})
}

// healing is how long it takes the informer at most to become equal to the server: it may have to
// give up a silent watch first.
const healing = 16 * time.Minute

func (x *execution) quiesce() {
	if !x.running || x.stopped {
		return
	}
	x.server.heal()
	for range int(healing / (10 * time.Second)) {
		synctest.Wait()
		if x.isConverged() {
			return
		}
		<-time.After(10 * time.Second)
	}
	v, e := x.subject.view(), x.server.world.present()
	x.fail("convergence", "after %v the store at %s holds %s, the server has %v at %d, status %+v; %s", healing, v.version,
		describe(v.pods), e.at(1<<63), e.head, x.subject.Status(), x.mismatch(e, len(x.server.world.epochs)-1, e.head, v))
}

func (x *execution) restored() bool {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return len(x.server.world.epochs) > 1
}

// fail records the first violation.
func (x *execution) fail(invariant, format string, arguments ...any) {
	x.note("VIOLATION of "+invariant+": "+format, arguments...)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.violation == nil {
		x.violation = &violation{invariant, fmt.Sprintf(format, arguments...)}
	}
}

func (x *execution) violated() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.violation != nil
}

// note adds a line to the timeline.
func (x *execution) note(format string, arguments ...any) {
	if !x.verbose {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lines = append(x.lines, fmt.Sprintf("%12v  ", time.Since(x.began))+fmt.Sprintf(format, arguments...))
}
