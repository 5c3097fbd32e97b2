// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/kinformer/kinformer/cache"
)

// legalProgram is a program for an informer of a legalServer's Widgets.
type legalProgram struct {
	Versions   string // numberVersions, ...
	EmptyPages int    `json:",omitempty"` // before each page with items
	Streaming  bool
	Packed     bool
	WatchList  bool  `json:",omitempty"`
	PageSize   int64 `json:",omitempty"`
	Steps      []legalStep
}

// legalStep is one step of a legalProgram.
type legalStep struct {
	Op   string        // opPut, opDelete, opRecreate, opBookmark, opClose, opCompact or opAdvance
	Keys []string      `json:",omitempty"` // all are changed at one version
	Odd  string        `json:",omitempty"` // the envelope of the new states
	For  time.Duration `json:",omitempty"`
}

func (p legalProgram) String() string { return mustJSON(p) }

var legalKeys = []string{"a", "b", "c", "d", "e"}

// drawLegal draws a program.
func drawLegal(r *rapid.T) legalProgram {
	p := legalProgram{
		Versions:   rapid.SampledFrom([]string{numberVersions, numberVersions, opaqueVersions, clusterVersions, objectVersions, noVersions}).Draw(r, "versions"),
		EmptyPages: rapid.SampledFrom([]int{0, 0, 1, 30}).Draw(r, "empty pages"),
		Streaming:  rapid.IntRange(0, 3).Draw(r, "streaming") > 0,
		Packed:     rapid.Bool().Draw(r, "packed"),
		WatchList:  rapid.SampledFrom([]bool{false, false, true}).Draw(r, "WatchList"),
		PageSize:   rapid.SampledFrom([]int64{0, 0, 1, 3}).Draw(r, "page size"),
	}
	ops := []string{opPut, opPut, opPut, opPut, opDelete, opRecreate, opBookmark, opClose, opClose, opCompact, opAdvance}
	odd := []string{""}
	if p.Streaming && rapid.Bool().Draw(r, "odd") {
		odd = slices.Concat([]string{"", "", "", "", ""}, namedEnvelopes, unnamedEnvelopes)
	}
	for range rapid.IntRange(1, 25).Draw(r, "steps") {
		s := legalStep{Op: rapid.SampledFrom(ops).Draw(r, "op")}
		switch s.Op {
		case opPut, opDelete, opRecreate:
			s.Keys = rapid.SliceOfNDistinct(rapid.SampledFrom(legalKeys), 1, 3, rapid.ID).Draw(r, "keys")
			s.Odd = rapid.SampledFrom(odd).Draw(r, "envelope")
		case opAdvance:
			s.For = rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 20 * time.Second, time.Minute, 7 * time.Minute}).Draw(r, "time")
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

// legalExecution is one run of a legalProgram.
type legalExecution struct {
	program  legalProgram
	server   *legalServer
	informer *cache.SharedInformer[*unstructured.Unstructured]
	began    time.Time
	writes   int
	// certain are the keys whose last changes could be read, and were sent to an open watch.
	certain map[string]bool

	mu        sync.Mutex // guards the fields below
	delivered map[string]string
	violation string
	lines     []string
}

// TestLegalServersAreFollowed runs random programs against servers that do what the API permits,
// however odd: pages without items, several changes at one version, versions that are no numbers or
// missing, and items and events with envelopes that cannot be read.
func TestLegalServersAreFollowed(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawLegal(r)
		if x := executeLegal(t, p); x.violation != "" {
			r.Fatalf("%s\n%v\n%s", x.violation, p, strings.Join(x.lines, "\n"))
		}
	})
}

// TestReplayLegal runs the program in -model.program, as TestLegalServersAreFollowed prints it, and
// prints what happens.
func TestReplayLegal(t *testing.T) {
	if *programFile == "" {
		t.Skip("without -model.program")
	}
	var p legalProgram
	text, err := os.ReadFile(*programFile)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Versions == "" {
		t.Fatalf("versions %q: %v", p.Versions, err)
	}
	x := executeLegal(t, p)
	t.Log("\n" + strings.Join(x.lines, "\n"))
	if x.violation != "" {
		t.Fatal(x.violation)
	}
}

func executeLegal(t *testing.T, p legalProgram) *legalExecution {
	t.Helper()
	x := &legalExecution{program: p, certain: make(map[string]bool), delivered: make(map[string]string)}
	hung := time.AfterFunc(patience, func() { panic("this program hangs: " + p.String()) })
	defer hung.Stop()
	synctest.Test(t, func(t *testing.T) {
		seedJitter()
		x.run(t)
	})
	return x
}

// run runs the program in a bubble.
func (x *legalExecution) run(t *testing.T) {
	t.Helper()
	x.began = time.Now()
	x.server = newLegalServer(x.program, x.note)
	x.informer = x.newInformer()
	if _, err := x.informer.AddEventHandler(cache.EventHandlerFunc[*unstructured.Unstructured](x.record), cache.HandlerOptions{EveryEvent: true}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- x.informer.Run(ctx) }()
	synctest.Wait()
	for _, s := range x.program.Steps {
		x.note("%s", mustJSON(s))
		x.step(s)
		synctest.Wait()
		if x.check(); x.violation != "" {
			break
		}
	}
	x.quiesce()
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	x.server.close()
}

func (x *legalExecution) newInformer() *cache.SharedInformer[*unstructured.Unstructured] {
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: x.server}
	if x.program.Streaming {
		cache.EnableStreaming(config)
	}
	widgets := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	example := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	return cache.NewSharedInformer(cache.ListWatchOf(widgets), example, cache.InformerOptions[*unstructured.Unstructured]{
		Packed: x.program.Packed, WatchList: x.program.WatchList, PageSize: x.program.PageSize, Logger: logr.Discard(),
	})
}

func (x *legalExecution) step(s legalStep) {
	switch s.Op {
	case opPut, opDelete:
		x.change(s.Op, s.Keys, s.Odd)
	case opRecreate:
		x.change(opDelete, s.Keys, "")
		x.change(opPut, s.Keys, s.Odd)
	case opBookmark:
		x.server.bookmark()
	case opClose:
		x.server.close()
	case opCompact:
		x.server.expire()
		x.server.close()
	case opAdvance:
		<-time.After(s.For)
	}
}

// change writes or deletes keys at one version.
func (x *legalExecution) change(op string, keys []string, odd string) {
	var changes []legalChange
	isWatched := x.server.isWatched()
	for _, key := range keys {
		old, exists := x.server.now[key]
		c := legalChange{"MODIFIED", key, legalState{uid: old.uid, value: x.writes, odd: odd}}
		switch {
		case op == opDelete && !exists:
			continue
		case op == opDelete:
			c.eventType, c.state = "DELETED", old
		case !exists:
			c.eventType, c.state.uid = "ADDED", x.writes
		}
		x.writes++
		x.certain[key] = isWatched && c.state.odd == ""
		changes = append(changes, c)
	}
	if len(changes) > 0 {
		x.server.change(changes...)
	}
}

// record checks that an event follows those before it.
func (x *legalExecution) record(event cache.Event[*unstructured.Unstructured]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before, exists := x.delivered[event.Key]
	x.lines = append(x.lines, fmt.Sprintf("%v %s: %s, %s", event.Type, event.Key, describeWidget(event.Old), describeWidget(event.New)))
	switch {
	case exists != (event.Type != cache.EventAdd), exists && describeWidget(event.Old) != before:
		x.fail("event %v of %s from %s to %s follows %q", event.Type, event.Key, describeWidget(event.Old), describeWidget(event.New), before)
	case event.Type == cache.EventDelete:
		delete(x.delivered, event.Key)
	default:
		x.delivered[event.Key] = describeWidget(event.New)
	}
}

func describeWidget(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	n, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "n")
	return fmt.Sprintf("%s@%s=%v", u.GetUID(), u.GetResourceVersion(), n)
}

// check compares the store with the server, and with what the handler received.
func (x *legalExecution) check() {
	stored := make(map[string]string)
	for _, u := range x.informer.Store().List() {
		stored["ns/"+u.GetName()] = describeWidget(u)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !maps.Equal(stored, x.delivered) {
		x.fail("the store has %v, the handler received %v", stored, x.delivered)
	}
	if !x.informer.HasSynced() && x.began.Add(time.Minute).Before(time.Now()) {
		x.fail("not synced: %v", x.informer.Status().Err)
	}
	for _, key := range legalKeys {
		if got, want := stored["ns/"+key], x.want(key); x.certain[key] && x.informer.HasSynced() && got != want {
			x.fail("the store has %q of %s, the server %q", got, key, want)
		}
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	for i := 22; i < len(x.server.requests); i++ {
		if took := x.server.requests[i].Sub(x.server.requests[i-22]); took < time.Minute {
			x.fail("23 requests within %v", took)
			return
		}
	}
}

// want returns what the store must have of a key.
func (x *legalExecution) want(key string) string {
	state, exists := x.server.now[key]
	if !exists {
		return ""
	}
	return fmt.Sprintf("uid-%d@%s=%d", state.uid, x.server.objectVersion(key, state.version), state.value)
}

// quiesce replaces all states that cannot be read, and expects that the store becomes equal to the
// server, without an error.
func (x *legalExecution) quiesce() {
	if x.violation != "" {
		return
	}
	x.note("quiesce")
	for key, state := range maps.Clone(x.server.now) {
		if state.odd != "" {
			x.change(opPut, []string{key}, "")
		}
	}
	synctest.Wait()
	x.server.close()
	<-time.After(10 * time.Minute)
	x.expectConverged(func(key string) bool { // lists with an item that has no key delete nothing
		_, exists := x.server.now[key]
		return exists || !slices.ContainsFunc(x.program.Steps, func(s legalStep) bool { return slices.Contains(unnamedEnvelopes, s.Odd) })
	})
	x.server.expire() // which causes a list
	x.server.close()
	<-time.After(10 * time.Minute)
	x.expectConverged(func(string) bool { return true })
	if unnamed := x.informer.Status().Store.Unnamed; unnamed > 0 {
		x.fail("%d unnamed objects after a list", unnamed)
	}
}

// expectConverged expects that the store has what the server has of the selected keys, and no
// error.
func (x *legalExecution) expectConverged(selected func(key string) bool) {
	synctest.Wait()
	for _, key := range legalKeys {
		x.certain[key] = x.certain[key] || selected(key)
	}
	x.check()
	if status := x.informer.Status(); status.Err != nil || status.Phase != cache.PhaseWatching || status.Store.Quarantined > 0 {
		x.fail("phase %s, error %v, %d quarantined", status.Phase, status.Err, status.Store.Quarantined)
	}
}

// fail records the first violation.
func (x *legalExecution) fail(format string, arguments ...any) {
	if x.violation == "" {
		x.violation = fmt.Sprintf(format, arguments...)
	}
}

func (x *legalExecution) note(format string, arguments ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lines = append(x.lines, fmt.Sprintf("%8v ", time.Since(x.began).Round(time.Millisecond))+fmt.Sprintf(format, arguments...))
}
