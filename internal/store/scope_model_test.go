// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/testing/random"
)

// scopesMachine is a server, whose objects have a letter, as a hash of the UID, and a store with a
// scope for each letter, or for two. Each scope has a feed, which lags behind the server by any
// number of events. Some states of objects cannot be stored, and some are to be ignored.
type scopesMachine struct {
	*harness
	version int
	writes  []scopedWrite           // the write of version n+1 is at n
	now     map[string]*scopedWrite // the last write of each key; nil if it does not exist
	lives   map[string]*scopedLife  // by UID
	parts   []*scopedPart           // in the order in which they were added
	listing *scopedPart             // whose list is being committed

	meanwhile []int // what happens in the next pauses of commits
}

// scopedWrite is one version of an object.
type scopedWrite struct {
	version       int
	key, uid      string
	letter        string // of the UID
	isNew, isLast bool   // it is the creation, or the deletion
	fault, last   string // last is that of the state before
}

// scopedLife is what was seen of an object, from its creation to its deletion.
type scopedLife struct {
	key    string
	out    bool // it was, or may have been, outside of the held scopes
	dead   bool
	stored bool // the store has had it
	failed bool // KeyError has had an error for it
	skips  bool // it had a state that is to be ignored
}

// scopedPart is a scope that is held, and its feed.
type scopedPart struct {
	letters string
	scope   *Scope
	feed    *Feed
	reached int // version
	listed  bool
}

func (p *scopedPart) has(letter string) bool {
	return letter != "" && strings.Contains(p.letters, letter)
}

// TestScopesMatchTheServer runs random programs. An object that exists in a held scope is never
// absent without an error, and in the end the store has what the server has.
func TestScopesMatchTheServer(t *testing.T) {
	random.Check(t, modelRounds, func(t *random.T) {
		m := &scopesMachine{
			harness: newHarness(scoped), version: 10, writes: make([]scopedWrite, 10), now: make(map[string]*scopedWrite),
			lives: make(map[string]*scopedLife),
		}
		m.meanwhile = make([]int, t.Length("pauses", 5, 100))
		for i := range m.meanwhile {
			m.meanwhile[i] = t.Range("meanwhile", 0, 999)
		}
		m.Store.pieceSize, m.Store.yield = 1, m.doMeanwhile
		m.hold("a")
		m.hold("b")
		for _, p := range m.parts {
			m.list(p, m.version, false)
		}
		m.MarkSynced()
		t.Repeat(map[string]func(*random.T){
			"write":      m.doWrite,
			"write more": m.doWrite,
			"deliver":    m.doDeliver,
			"deliver on": m.doDeliver,
			"list":       m.doList,
			"set":        m.doSet,
			"remove":     m.doRemove,
			"add":        m.doAdd,
			"clear":      m.doClear,
			"":           m.check,
		})
		m.settle()
		m.check(t)
		m.checkSettled(t)
	})
}

func (m *scopesMachine) doWrite(t *random.T) {
	key := random.From(t, "key", "k", "l")
	letter := random.From(t, "letter", "a", "b")
	m.write(key, letter, random.From(t, "delete", true, false, false), random.From(t, "fault", writeFaults...))
}

var writeFaults = []string{"", "", "decode", "skip"}

// write creates an object whose UID has a letter, or changes or deletes the one that exists.
func (m *scopesMachine) write(key, letter string, deletes bool, fault string) {
	before := m.now[key]
	m.version++
	w := scopedWrite{version: m.version, key: key, letter: letter, fault: fault}
	if before == nil {
		w.uid, w.isNew = letter+strconv.Itoa(m.version), true
		m.lives[w.uid] = &scopedLife{key: key}
	} else {
		w.uid, w.letter, w.last, w.isLast = before.uid, before.letter, before.fault, deletes
	}
	life := m.lives[w.uid]
	if w.isLast {
		life.dead = true
		m.now[key] = nil
	} else {
		life.out = life.out || !m.isHeld(w.letter)
		life.skips = life.skips || w.fault == "skip"
		m.now[key] = &w
	}
	m.writes = append(m.writes, w)
}

// isHeld reports whether a scope has a letter.
func (m *scopesMachine) isHeld(letter string) bool {
	return slices.ContainsFunc(m.parts, func(p *scopedPart) bool { return p.has(letter) })
}

func (m *scopesMachine) hold(letters string) *scopedPart {
	p := &scopedPart{letters: letters, scope: m.AddScope(scope.Scope{})}
	p.feed = m.NewFeed(FeedConfig{Scopes: []*Scope{p.scope}})
	m.parts = append(m.parts, p)
	return p
}

// drawPart returns a scope.
func (m *scopesMachine) drawPart(t *random.T) *scopedPart {
	if len(m.parts) == 0 {
		t.Skip("no scope")
	}
	return m.parts[t.Range("scope", 0, len(m.parts)-1)]
}

func (m *scopesMachine) doDeliver(t *random.T) {
	p := m.drawPart(t)
	if !p.listed {
		t.Skip("not listed")
	}
	to := p.reached + random.From(t, "versions", 1, 1, 1, 2, 100)
	m.deliver(p, min(to, m.version))
}

// deliver makes a feed pass the events up to a version, or a bookmark.
func (m *scopesMachine) deliver(p *scopedPart, to int) {
	for p.reached < to {
		w := m.writes[p.reached]
		p.reached++
		o := &object{Key: w.key, UID: w.uid, Version: strconv.Itoa(w.version), Fault: w.fault}
		switch {
		case !p.has(w.letter):
			if p.reached == to {
				p.feed.AdvanceVersion(o.Version)
			}
			continue
		case w.isLast:
			p.feed.Apply(watch.Deleted, o.with(w.last).item())
			continue
		case w.isNew:
			p.feed.Apply(watch.Added, o.item())
		default:
			p.feed.Apply(watch.Modified, o.item())
		}
		m.noteFailure(o)
	}
}

// doMeanwhile writes, or delivers events of other scopes, while a commit pauses.
func (m *scopesMachine) doMeanwhile() {
	if len(m.meanwhile) == 0 {
		return
	}
	n := m.meanwhile[0]
	m.meanwhile = m.meanwhile[1:]
	draw := func(limit int) (drawn int) { drawn, n = n%limit, n/limit; return drawn }
	if draw(2) == 1 {
		m.write([]string{"k", "l"}[draw(2)], []string{"a", "b"}[draw(2)], draw(3) == 0, writeFaults[draw(4)])
	}
	for _, p := range m.parts {
		if p != m.listing && p.listed {
			m.deliver(p, min(p.reached+draw(4), m.version))
		}
	}
}

// noteFailure records that the store knows that the state of an object cannot be stored. It may
// know that of an earlier object of the key instead, from a scope that is behind.
func (m *scopesMachine) noteFailure(o *object) {
	if f, failed := m.quarantine.failed(o.Key); o.Fault == "decode" && failed && f.uid == hashUID(o.UID) {
		m.lives[o.UID].failed = true
	}
}

func (m *scopesMachine) doList(t *random.T) {
	p := m.drawPart(t)
	from := p.reached
	if !p.listed {
		from = max(from, m.notOlderThan(p))
	}
	version := t.Range("version", from, m.version)
	m.list(p, version, version == m.version && t.Bool("consistent"))
}

func (m *scopesMachine) notOlderThan(p *scopedPart) int {
	version, _ := strconv.Atoi(p.feed.NotOlderThan())
	return version
}

// list makes a feed list its scope at a version. A consistent read is at that of the server.
func (m *scopesMachine) list(p *scopedPart, version int, consistent bool) {
	next := p.feed.Begin()
	if consistent {
		next.CompareContents(true)
	}
	then := make(map[string]scopedWrite)
	for _, w := range m.writes[:version] {
		then[w.key] = w
	}
	for _, key := range []string{"k", "l"} {
		if w := then[key]; p.has(w.letter) && !w.isLast {
			o := &object{Key: w.key, UID: w.uid, Version: strconv.Itoa(w.version), Fault: w.fault}
			next.Add(o.item())
			defer m.noteFailure(o)
		}
	}
	m.listing = p
	next.Commit(strconv.Itoa(version))
	m.listing = nil
	p.reached, p.listed = version, true
}

// doSet replaces scopes, as Set does.
func (m *scopesMachine) doSet(t *random.T) {
	next := random.From(t, "set", []string{"a", "b"}, []string{"ab"}, []string{"a"})
	for _, p := range slices.Clone(m.parts) {
		if i := slices.Index(next, p.letters); i >= 0 {
			next = slices.Delete(slices.Clone(next), i, i+1)
		} else {
			m.drop(p)
		}
	}
	m.markOut()
	for _, letters := range next {
		m.hold(letters)
	}
}

// doRemove removes a scope, as Remove does.
func (m *scopesMachine) doRemove(t *random.T) {
	m.drop(m.drawPart(t))
	m.markOut()
}

func (m *scopesMachine) doAdd(t *random.T) {
	letter := random.From(t, "letter", "a", "b")
	if m.isHeld(letter) {
		t.Skip("it is held")
	}
	m.hold(letter)
}

// doClear removes all objects, which exist. All scopes must be listed again.
func (m *scopesMachine) doClear(t *random.T) {
	m.drawPart(t) // the feeds of scopes find out that they are not served
	m.Clear(t.Context(), errNotServed, true)
	for _, p := range m.parts {
		p.listed = false
	}
	for _, life := range m.lives {
		life.out = true
	}
}

func (m *scopesMachine) drop(p *scopedPart) {
	p.feed.Close()
	m.RemoveScopes([]*Scope{p.scope}, true)
	m.parts = slices.DeleteFunc(m.parts, func(other *scopedPart) bool { return other == p })
}

// markOut marks objects that may have left the store with a scope.
func (m *scopesMachine) markOut() {
	for _, w := range m.writes {
		if w.uid != "" && !m.isHeld(w.letter) {
			m.lives[w.uid].out = true
		}
	}
}

// settle lets every feed list its scope and reach the version of the server.
func (m *scopesMachine) settle() {
	for range 3 {
		for _, p := range slices.Clone(m.parts) {
			if !p.listed {
				m.list(p, max(p.reached, m.notOlderThan(p)), false)
			}
			m.deliver(p, m.version)
			p.feed.AdvanceVersion(strconv.Itoa(m.version))
		}
	}
}

// mustStay reports whether the store must not lose an object.
func (l *scopedLife) mustStay() bool { return !l.dead && !l.out }

// check checks that no object was deleted that exists in a held scope.
func (m *scopesMachine) check(t *random.T) {
	for {
		batch, ok := m.cursor.TryNext()
		if !ok {
			break
		}
		for _, change := range batch {
			if change.New == nil {
				uid, _ := identified(change.Old)
				if life := m.lives[uid]; life.mustStay() {
					t.Fatalf("%s was deleted, and exists", uid)
				}
			}
		}
	}
	for uid, life := range m.lives {
		has, err := m.HasUID(life.key, uid), m.KeyError(life.key)
		life.stored = life.stored || has
		if life.mustStay() && !has && (life.stored || life.failed && !life.skips && err == nil) {
			t.Fatalf("%s exists, and is absent; KeyError: %v", uid, err)
		}
	}
	if err := m.validate(); err != nil {
		t.Fatal(err)
	}
}

// checkSettled compares the store with the server.
func (m *scopesMachine) checkSettled(t *random.T) {
	for _, key := range []string{"k", "l"} {
		w, err := m.now[key], m.KeyError(key)
		o, has := m.Get(key)
		switch {
		case w == nil || !m.isHeld(w.letter):
			if has || err != nil {
				t.Fatalf("%q is not in a held scope; the store has %v, %v", key, o, err)
			}
		case has && o.UID != w.uid:
			t.Fatalf("the store has %v, the server %+v", o, w)
		case w.fault == "":
			if !has || o.Version != strconv.Itoa(w.version) || err != nil {
				t.Fatalf("the store has %v, %v, the server %+v", o, err, w)
			}
		case w.fault == "decode" && err == nil:
			t.Fatalf("the state of %+v could not be stored, and there is no error; stored %v", w, has)
		case w.fault == "skip" && err != nil:
			t.Fatalf("the state of %+v is ignored: %v", w, err)
		}
	}
	counts := 0
	for _, p := range m.parts {
		counts += m.ScopeState(p.scope).Objects
	}
	if counts != m.Len() {
		t.Fatalf("%d objects in scopes, %d in the store", counts, m.Len())
	}
}
