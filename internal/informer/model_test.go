// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/testing/random"
)

// modelObject is one state of an object.
type modelObject struct {
	key, uid    string
	revision    int // of the collection
	terminating bool
}

func (o *modelObject) String() string {
	if o == nil {
		return "nil"
	}
	return fmt.Sprintf("%s/%s@%d%v", o.key, o.uid, o.revision, o.terminating)
}

func (o *modelObject) item() feed.Item {
	// The object travels as bytes because feed.Item.Object must be a runtime.Object.
	raw := fmt.Appendf(nil, "%s %s %d %v", o.key, o.uid, o.revision, o.terminating)
	return feed.Item{Key: o.key, UID: o.uid, ResourceVersion: fmt.Sprint(o.revision), Raw: raw}
}

func modelStore() store.Config {
	return store.Config{
		EmitUnstoredDeletions: true,
		Key:                   func(o any) (string, error) { return o.(*modelObject).key, nil },
		ItemKeys:              true,
		Identity:              func(o any) (string, string) { return o.(*modelObject).uid, fmt.Sprint(o.(*modelObject).revision) },
		Decode: func(item feed.Item) (any, error) {
			o := &modelObject{}
			_, err := fmt.Sscan(string(item.Raw), &o.key, &o.uid, &o.revision, &o.terminating)
			return o, err
		},
		PointerType: reflect.TypeFor[*modelObject](),
		Report:      func(string, error) {},
	}
}

// modelChange is one change of the model.
type modelChange struct {
	old, new *modelObject
	final    *modelObject // the state sent with a deletion; nil if a list shows the deletion
	initial  bool         // part of the initial list
	unstored bool         // a deletion of an object that was never stored: old is final
}

func (c modelChange) key() string {
	if c.new != nil {
		return c.new.key
	}
	return c.old.key
}

// model is a collection, and the list of all its changes since the initial list.
type model struct {
	objects  map[string]*modelObject
	gone     map[string]string // the UID of each key's last deletion
	uids     int
	revision int
	changes  []modelChange
	listed   bool // the informer has the initial list
}

// next returns the next state of a key.
func (m *model) next(key string, terminating bool) *modelObject {
	m.revision++
	uid := fmt.Sprint("uid", m.uids)
	if old := m.objects[key]; old != nil {
		uid, terminating = old.uid, terminating || old.terminating
	} else {
		m.uids++
	}
	return &modelObject{key: key, uid: uid, revision: m.revision, terminating: terminating}
}

// write creates or updates an object.
func (m *model) write(key string, terminating bool) (watch.EventType, *modelObject) {
	eventType := watch.Modified
	if m.objects[key] == nil {
		eventType = watch.Added
	}
	o := m.next(key, terminating)
	if m.listed {
		m.changes = append(m.changes, modelChange{old: m.objects[key], new: o})
	}
	m.objects[key] = o
	return eventType, o
}

// remove deletes an object that exists, and returns its final state.
func (m *model) remove(key string) *modelObject {
	final := m.next(key, false)
	m.changes = append(m.changes, modelChange{old: m.objects[key], final: final})
	m.gone[key] = final.uid
	delete(m.objects, key)
	return final
}

// removeUnstored deletes an object that does not exist, and returns its state: a new one or, if
// again is set, the one that was deleted last.
func (m *model) removeUnstored(key string, again bool) *modelObject {
	o := m.next(key, false)
	if last := m.gone[key]; again && last != "" {
		o.uid = last
	}
	m.gone[key] = o.uid
	m.changes = append(m.changes, modelChange{old: o, final: o, unstored: true})
	return o
}

// removeSilently deletes an object that exists without an event.
func (m *model) removeSilently(key string) {
	m.changes = append(m.changes, modelChange{old: m.objects[key]})
	delete(m.objects, key)
}

// step is one step of a program. Verbs that need no key or handler ignore them.
type step struct {
	Verb    string // write, terminate, delete, recreate, relist, add, block, resume, stop, settle
	Key     int
	Handler int
	Variant int
}

func (s step) String() string {
	return fmt.Sprintf("%s(%d,%d,%d)", s.Verb, s.Key, s.Handler, s.Variant)
}

const (
	modelKeys     = 4
	modelHandlers = 6
)

// drawProgram draws 60 to 200 steps.
func drawProgram(t *random.T) []step {
	verbs := []string{"write", "write", "write", "write", "terminate", "terminate", "delete", "delete", "recreate", "relist",
		"add", "add", "block", "block", "resume", "stop", "settle", "settle"}
	program := make([]step, 60+t.Length("more than 60 steps", 60, 140))
	for i := range program {
		t.Step("step")
		program[i] = step{
			Verb:    random.From(t, "verb", verbs...),
			Key:     t.Range("key", 0, modelKeys-1),
			Handler: t.Range("handler", 0, modelHandlers-1),
			Variant: t.Range("variant", 0, variants-1),
		}
	}
	return program
}

// modelRun runs a program against an informer and the model.
type modelRun struct {
	*Informer
	model     model
	recorders [modelHandlers]*recorder
	stopped   []*recorder
	problems  []string
}

func modelKey(i int) string { return fmt.Sprint("key", i) }

// run runs a program. The initial list comes before the step with the number first.
func (r *modelRun) run(program []step, first int) {
	for i, s := range program {
		if i == first {
			for _, o := range r.model.objects {
				r.model.changes = append(r.model.changes, modelChange{new: o, initial: true})
			}
			r.model.listed = true
			r.relist()
		}
		r.step(s)
	}
	for _, rec := range r.recorders {
		if rec != nil {
			rec.resume()
		}
	}
	synctest.Wait()
}

func (r *modelRun) step(s step) {
	key, rec := modelKey(s.Key), r.recorders[s.Handler]
	exists := r.model.objects[key] != nil
	if !r.model.listed {
		switch s.Verb {
		case "write":
			r.model.write(key, false)
			return
		case "terminate", "delete", "recreate", "relist":
			return
		}
	}
	switch s.Verb {
	case "write", "terminate":
		r.write(key, s.Verb == "terminate" && exists)
	case "delete", "recreate":
		if exists {
			r.feed.Apply(watch.Deleted, r.model.remove(key).item())
		} else if s.Verb == "delete" {
			r.feed.Apply(watch.Deleted, r.model.removeUnstored(key, s.Handler > 0).item())
		}
		if s.Verb == "recreate" {
			r.write(key, false)
		}
	case "relist":
		r.changeSilently(s)
		r.relist()
	case "settle":
		synctest.Wait()
	case "add":
		if rec == nil {
			r.addHandler(s)
		}
	case "block", "resume", "stop":
		if rec != nil {
			r.control(s, rec)
		}
	}
}

// write writes an object and sends the event.
func (r *modelRun) write(key string, terminating bool) {
	eventType, o := r.model.write(key, terminating)
	r.feed.Apply(eventType, o.item())
}

// changeSilently makes changes that only a list shows, in the order in which the store finds
// them: deletions first.
func (r *modelRun) changeSilently(s step) {
	for i := range modelKeys {
		if key := modelKey(i); r.model.objects[key] != nil && (s.Key+i)%3 == 0 {
			r.model.removeSilently(key)
		}
	}
	for i := range modelKeys {
		if (s.Handler+i)%2 == 0 {
			r.model.write(modelKey(i), false)
		}
	}
}

// relist replaces the store's state by the model's.
func (r *modelRun) relist() {
	r.model.revision++
	replacement := r.feed.Begin()
	for i := range modelKeys {
		if o := r.model.objects[modelKey(i)]; o != nil {
			replacement.Add(o.item())
		}
	}
	replacement.Commit(fmt.Sprint(r.model.revision))
}

func (r *modelRun) addHandler(s step) {
	rec := &recorder{variant: s.Variant, from: len(r.model.changes), initial: make(map[string]*modelObject)}
	for key, o := range r.model.objects {
		if r.model.listed {
			rec.initial[key] = o
		}
	}
	h, err := r.Add(rec.config(fmt.Sprint(s)))
	if err != nil {
		r.problems = append(r.problems, err.Error())
		return
	}
	rec.handler.Store(h)
	r.recorders[s.Handler] = rec
}

func (r *modelRun) control(s step, rec *recorder) {
	switch s.Verb {
	case "block":
		rec.block()
	case "resume":
		rec.resume()
	case "stop":
		rec.handler.Load().Cancel()
		rec.resume()
		if err := rec.handler.Load().Stop(context.Background()); err != nil {
			r.problems = append(r.problems, err.Error())
		}
		r.stopped = append(r.stopped, rec)
		r.recorders[s.Handler] = nil
	}
}

// TestDeliveryMatchesModel runs random programs of writes, lists, and handlers that are added,
// blocked and stopped. It compares the events of each handler with a plain list of all changes:
// each change must be delivered, in order for each object, and coalesced only where that is
// allowed.
func TestDeliveryMatchesModel(t *testing.T) {
	var coalesced atomic.Uint64
	programs := 0
	random.Check(t, modelPrograms, func(round *random.T) {
		programs++
		checkProgram(t, round, &coalesced)
	})
	if programs > 1 && coalesced.Load() == 0 {
		t.Error("no program coalesced any event")
	}
}

func checkProgram(t *testing.T, round *random.T, coalesced *atomic.Uint64) {
	t.Helper()
	threshold := uint64(round.Range("threshold", 1, 12))
	size := round.Range("batch size", 1, 4)
	program := drawProgram(round)
	round.Step("start")
	first := round.Range("first", 0, len(program)/4)
	var problems []string
	synctest.Test(t, func(t *testing.T) {
		r := &modelRun{Informer: New(Config{
			Name: "objects", Store: modelStore(), CoalesceThreshold: threshold,
			Reflector:   reflector.Config{Source: idleSource{}},
			Terminating: func(o any) bool { return o.(*modelObject).terminating },
			batchSize:   size,
		})}
		r.model.objects, r.model.gone = make(map[string]*modelObject), make(map[string]string)
		stop := start(r.Informer)
		synctest.Wait()
		r.run(program, first)
		for _, rec := range r.recorders {
			if rec != nil {
				r.check(rec, true)
				coalesced.Add(rec.handler.Load().Status().Coalesced)
			}
		}
		for _, rec := range r.stopped {
			r.check(rec, false)
		}
		if err := stop(); err != nil {
			r.problems = append(r.problems, err.Error())
		}
		problems = r.problems
	})
	if len(problems) > 0 {
		t.Fatal(strings.Join(problems, "\n"))
	}
}
