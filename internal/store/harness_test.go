// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/scope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// object is the type of the tests' values. Fault names the function of the Config that fails for
// the object.
type object struct {
	Key, UID, Version string
	Text              string   `json:",omitempty"`
	Groups            []string `json:",omitempty"`
	Fault             string   `json:",omitempty"`
}

var errInjected = errors.New("injected failure")

// fails returns an error or panics if the object's Fault is at.
func (o *object) fails(at string) error {
	switch o.Fault {
	case at:
		return errInjected
	case at + " panic":
		panic(errInjected)
	}
	return nil
}

// obj returns an object for "key/uid@version". The uid and the version are optional.
func obj(id string, groups ...string) *object {
	name, version, _ := strings.Cut(id, "@")
	key, uid := name, ""
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		key, uid = name[:i], name[i+1:]
	}
	return &object{Key: key, UID: uid, Version: version, Groups: groups}
}

func (o *object) with(fault string) *object { o.Fault = fault; return o }

func (o *object) String() string { return o.Key + "/" + o.UID + "@" + o.Version }

// item returns the object as a source passes it on.
func (o *object) item() feed.Item {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	identify(o.UID, o.Version)
	return feed.Item{Key: o.Key, UID: o.UID, ResourceVersion: o.Version, Raw: raw}
}

// identityTexts holds the UID and version of each identity, which cannot be read back from it.
var identityTexts sync.Map // maps identity to [2]string

func identify(uid, version string) identity {
	id := identityOf(uid, version)
	identityTexts.Store(id, [2]string{uid, version})
	return id
}

// identified returns the UID and version of an entry's identity.
func identified(entry *Entry) (uid, version string) {
	text, ok := identityTexts.Load(entry.identity())
	if !ok {
		return "unknown", "unknown"
	}
	return text.([2]string)[0], text.([2]string)[1]
}

// objects returns values as objects.
func objects(values []any) (list []*object) {
	for _, value := range values {
		list = append(list, value.(*object))
	}
	return list
}

// values returns objects as values.
func values(objects []*object) (list []any) {
	for _, o := range objects {
		list = append(list, o)
	}
	return list
}

func groupsOf(o any) ([]string, error) { return o.(*object).Groups, o.(*object).fails("index") }

func keyAndUID(o any) ([]string, error) { return []string{o.(*object).Key, o.(*object).UID}, nil }

// fedStore is a store and its feed, nil if the store has scopes.
type fedStore struct {
	*Store
	*Feed
}

func newFedStore(config Config) fedStore {
	s := New(config)
	if s.isScoped() {
		return fedStore{s, nil}
	}
	return fedStore{s, s.NewFeed(FeedConfig{})}
}

// harness is a store of objects with a log and a cursor at the log's start.
type harness struct {
	fedStore
	log     *eventlog.Log[Change]
	cursor  *eventlog.Cursor[Change]
	decodes atomic.Int64

	mu      sync.Mutex // guards reports
	reports []string
}

// newHarness returns a harness whose store has an index "group" and item keys, unless options
// change that.
func newHarness(options ...func(*Config)) *harness {
	h := &harness{log: eventlog.New[Change]()}
	config := Config{
		Key:      func(o any) (string, error) { return o.(*object).Key, o.(*object).fails("key") },
		ItemKeys: true,
		Identity: func(value any) (string, string) {
			o := value.(*object)
			identify(o.UID, o.Version)
			return o.UID, o.Version
		},
		Decode:      h.decode,
		Indexers:    map[string]IndexFunc{"group": groupsOf},
		PointerType: reflect.TypeFor[*object](),
		Report:      h.report,
		Log:         h.log,
	}
	for _, option := range options {
		option(&config)
	}
	h.fedStore = newFedStore(config)
	h.cursor = h.log.Cursor()
	return h
}

// feedOfAll returns the feed of all objects: that of a store with one scope, or one of a new scope.
func (h *harness) feedOfAll() *Feed {
	if h.Feed != nil {
		return h.Feed
	}
	c := h.AddScope(scope.Scope{})
	return h.NewFeed(FeedConfig{Scopes: []*Scope{c}})
}

// Get is Store.Get, with the type of the values.
func (h *harness) Get(key string) (*object, bool) {
	value, ok := h.Store.Get(key)
	o, _ := value.(*object)
	return o, ok
}

func packing(c *Config) { c.Packer = jsonPacker{pack.New()} }

// scoped makes a store have scopes, and no feed.
func scoped(c *Config) {
	c.ScopeOf = func(_, _, _ string) (scope.Scope, error) { return scope.Scope{}, scope.ErrNotSelected }
}

func withoutItemKeys(c *Config) { c.ItemKeys = false }

func transforming(c *Config) { c.Transforms = func() bool { return true } }

func (h *harness) decode(item feed.Item) (any, error) {
	h.decodes.Add(1)
	o := &object{}
	if err := json.Unmarshal(item.Raw, o); err != nil {
		return nil, err
	}
	if o.Fault == "skip" {
		return nil, fmt.Errorf("transform: %w", feed.ErrSkip)
	}
	return o, o.fails("decode")
}

func (h *harness) report(key string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports = append(h.reports, fmt.Sprintf("%s: %v", key, err))
}

// reported returns the reports since its last call.
func (h *harness) reported() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.reports = nil }()
	return h.reports
}

func (h *harness) apply(eventType watch.EventType, o *object) feed.Outcome {
	return h.Apply(eventType, o.item())
}

// relist stores a list as a reflector does.
func (h *harness) relist(version string, objects ...*object) {
	next := h.Begin()
	for _, o := range objects {
		next.Add(o.item())
	}
	next.Commit(version)
}

// batches returns the batches that the log has received since the last call, one line per batch.
func (h *harness) batches() (lines []string) {
	for {
		batch, ok := h.cursor.TryNext()
		if !ok {
			return lines
		}
		var changes []string
		for _, change := range batch {
			changes = append(changes, h.describe(change))
		}
		lines = append(lines, strings.Join(changes, ", "))
	}
}

func (h *harness) describe(change Change) string {
	id := func(entry *Entry) string {
		uid, version := identified(entry)
		return "/" + uid + "@" + version
	}
	initial := ""
	if change.Initial {
		initial = " (initial)"
	}
	if change.LeftScope {
		initial = " (left scope)"
	}
	switch {
	case change.Old == nil:
		return "add " + change.Key + id(change.New) + initial
	case change.New == nil && change.Final != nil:
		return "delete " + change.Key + id(change.Old) + "→" + id(change.Final) + initial
	case change.New == nil:
		return "delete " + change.Key + id(change.Old) + initial
	}
	return "update " + change.Key + id(change.Old) + "→" + id(change.New) + initial
}

// contents returns the objects of a snapshot in key order.
func contents(s *Snapshot) (ids []string) {
	for _, o := range s.All() {
		ids = append(ids, o.(*object).String())
	}
	return ids
}

// expect checks the batches since the last call and the contents of the store.
func (h *harness) expect(t *testing.T, batches []string, want ...string) {
	t.Helper()
	if got := h.batches(); !slices.Equal(got, batches) {
		t.Errorf("the log received %q, want %q", got, batches)
	}
	if got := contents(h.Snapshot()); !slices.Equal(got, want) {
		t.Errorf("the store has %q, want %q", got, want)
	}
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}

// jsonPacker packs an object as its JSON.
type jsonPacker struct{ *pack.Packer }

func (p jsonPacker) Pack(_ feed.Item, old pack.Object, value func() (any, error)) (pack.Object, error) {
	v, err := value()
	if err != nil {
		return pack.Object{}, err
	}
	o := v.(*object)
	if o.Fault == "unpackable" {
		return pack.Object{}, fmt.Errorf("%w: %s", pack.ErrUnsupported, o)
	}
	if err := o.fails("pack"); err != nil {
		return pack.Object{}, err
	}
	raw, err := json.Marshal(o)
	return p.Packer.Pack(raw, o.UID, old, pack.Excerpt{}), err
}

func (jsonPacker) Unpack(packed pack.Object) (any, error) {
	raw, err := packed.Unpack(nil)
	if err != nil {
		return nil, err
	}
	o := &object{}
	return o, json.Unmarshal(raw, o)
}

// corrupt makes the packed bytes under key unreadable and drops the decoded object. The
// replacements that were begun may share the entry.
func (h *harness) corrupt(key string, begun ...feed.Replacement) {
	p := packedOf(h.entries.Get(key))
	states := []*state{h.live.Load()}
	for _, next := range begun {
		if r, ok := next.(*Replacement); ok && r.next.entries.Get(key) == p.ref() {
			states = append(states, r.next)
		}
	}
	for _, state := range states {
		state.packedBytes.Add(-int64(p.object.Size()))
	}
	p.live.Store(nil)
	p.object = pack.Object{}
}
