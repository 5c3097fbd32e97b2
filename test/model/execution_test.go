// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// execution is one run of a program.
type execution struct {
	program    program
	server     *server
	subject    subject
	handlers   []*recorder
	stop       context.CancelFunc
	result     chan error // of Run
	running    bool
	canceled   bool // stop was called
	stopped    bool // Run has returned
	waits      sync.WaitGroup
	waiting    int          // guarded by mu
	writeWaits atomic.Int32 // the waits for a write
	reads      sync.WaitGroup
	held       []heldView

	epoch   int    // that the store shows, or the last one that it has shown
	reached uint64 // the version of the store after the last step
	last    view   // the store after the last step

	startEpoch int       // of the server when the informer was started
	listedAt   time.Time // when the store first had a version
	startHead  uint64    // its version then

	absences int    // those of the server when the store was last seen with objects
	notFound int    // the number of 404s at that time
	quiet    *quiet // nil unless the resource is known not to be served

	rollback rollback // the last one whose versions have passed those of the store

	mu        sync.Mutex // guards the fields below
	violation *violation
	verbose   bool
	lines     []string       // what happened, if verbose
	checks    map[string]int // of each invariant
	met       map[string]int // what happened; see coverage_test.go
	simulated time.Duration
	began     time.Time
}

// checked counts a check of an invariant.
func (x *execution) checked(invariant string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checks[invariant]++
}

// meet counts something that programs must do once in a while.
func (x *execution) meet(what string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.met[what]++
}

// violation is an invariant that did not hold.
type violation struct{ invariant, text string }

func (v *violation) String() string { return v.invariant + ": " + v.text }

// execute runs a program in a bubble of its own. The bubble panics if goroutines remain.
func execute(t *testing.T, p program, verbose bool) (x *execution) {
	t.Helper()
	if p.Options.Wire == "" {
		p = withSteps(p, makeGood(badBytes, badLarge))
	}
	x = &execution{program: p, verbose: verbose, checks: make(map[string]int), met: make(map[string]int)}
	seedJitter()
	defer useVersionBase(p.Options.VersionBase)()
	if n := p.Options.Procs; n > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	}
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
	x.server = newServer(o, x.note)
	x.server.flooded = x.failRate
	if o.Wire != "" {
		x.server.network = newNetwork(x.server, o)
		defer x.server.network.stop()
	}
	x.subject = newSubject(x.server, o, x.server.functions.report)
	ctx, x.stop = context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	defer x.stop()
	x.result = make(chan error, 1)
	if o.Bookmarks > 0 {
		go x.bookmarks(ctx)
	}
	for _, s := range x.program.Steps {
		x.note("--- %v", s)
		x.meet("operation " + s.Op)
		x.step(ctx, s)
		if s.NoWait {
			continue
		}
		x.settle()
		if x.violated() {
			break
		}
	}
	x.end()
	x.checked("goroutines") // by the end of the bubble
	x.simulated = time.Since(x.began)
}

// settle waits until the informer has nothing to do, and checks the store and the handlers.
func (x *execution) settle() {
	synctest.Wait()
	x.reads.Wait()
	x.checkStore()
	x.checkHeld()
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
	case opPut, opDelete, opRecreate, opSkip:
		x.server.change(func(w *world) {
			if x.server.availability.gone { // writes to other collections
				s.Op = opSkip
			}
			changeWorld(w, s)
		})
	case opFlood:
		x.flood(s.N)
	case opRestore:
		x.settle() // what the informer has received limits the versions of the restored server
		if !x.server.functions.isBlocked() && !x.server.availability.gone {
			x.restore(s)
		}
	case opUnserve, opUndefine, opDefine, opVerdict:
		x.stepServed(s)
	case opAdvance:
		cachetest.Advance(s.For)
	default:
		x.stepServer(ctx, s)
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
	}
}

// stepServer executes a step that changes the server, but not its objects.
func (x *execution) stepServer(ctx context.Context, s step) {
	switch s.Op {
	case opCompact:
		x.server.compact(s.N)
	case opBookmark:
		x.server.bookmark()
	case opClose:
		x.server.closeStreams()
	case opRestart:
		x.server.restart(s.N)
	case opSwitch:
		x.server.route(s.N)
	case opLag:
		x.server.lag(s.N)
	case opCatchUp:
		x.server.catchUp(s.N)
	case opFault:
		x.server.inject(*s.Fault)
	case opHeal:
		x.server.heal()
	default:
		x.stepInformer(ctx, s)
	}
}

// stepInformer executes a step of the program that has the informer.
func (x *execution) stepInformer(ctx context.Context, s step) {
	switch s.Op {
	case opRun:
		x.startRun(ctx)
	case opAdd:
		x.addHandler(*s.Handler)
	case opRemove:
		x.removeHandler(s.N)
	case opUnblock:
		if s.N < len(x.handlers) {
			x.handlers[s.N].unblock()
		}
	case opRelease:
		x.server.functions.unblock(false)
	case opWait:
		x.waitForWrite()
	case opWaitSync:
		x.waitForSync()
	case opRead:
		x.read(s.N)
	case opHold:
		x.hold()
	case opStop:
		x.stopInformer()
	case opQuiesce:
		x.quiesce()
	}
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
