package store

import (
	"encoding/json"
	"errors"
	"fmt"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// object is what the tests keep in a store. Its Fault names the function of the
// Config that fails on it.
type object struct {
	Key, UID, Version string
	Text              string   `json:",omitempty"`
	Groups            []string `json:",omitempty"`
	Fault             string   `json:",omitempty"`
}

var errInjected = errors.New("the toy says no")

func (o *object) fails(at string) error {
	switch o.Fault {
	case at:
		return errInjected
	case at + " panic":
		panic(errInjected)
	}
	return nil
}

// obj makes an object of "key/uid@version"; uid and version may be left out.
func obj(id string, groups ...string) *object {
	name, version, _ := strings.Cut(id, "@")
	key, uid, _ := strings.Cut(name, "/")
	return &object{Key: key, UID: uid, Version: version, Groups: groups}
}

func (o *object) with(fault string) *object { o.Fault = fault; return o }

func (o *object) String() string { return o.Key + "/" + o.UID + "@" + o.Version }

// item is the object as a source sends it.
func (o *object) item() feed.Item {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	identify(o.UID, o.Version)
	return feed.Item{Key: o.Key, UID: o.UID, ResourceVersion: o.Version, Raw: raw}
}

// texts are the identities that items came with. What an entry remembers of them
// cannot be read back.
var identityTexts sync.Map // identity to [2]string

func identify(uid, version string) identity {
	id := identityOf(uid, version)
	identityTexts.Store(id, [2]string{uid, version})
	return id
}

// identified returns the UID and version that an entry came with.
func identified(entry *Entry[*object]) (uid, version string) {
	text, ok := identityTexts.Load(entry.identity)
	if !ok {
		return "unknown", "unknown"
	}
	return text.([2]string)[0], text.([2]string)[1]
}

func groupsOf(o *object) ([]string, error) { return o.Groups, o.fails("index") }

func keyAndUID(o *object) ([]string, error) { return []string{o.Key, o.UID}, nil }

// rig is a store of objects with a log and a cursor at the log's beginning.
type harness struct {
	*Store[*object]
	log     *eventlog.Log[Change[*object]]
	cursor  *eventlog.Cursor[Change[*object]]
	decodes atomic.Int64

	mu      sync.Mutex
	reports []string
}

// newRig makes a store with an index "group" whose items know their keys;
// options may change that.
func newHarness(options ...func(*Config[*object])) *harness {
	h := &harness{log: eventlog.New[Change[*object]]()}
	config := Config[*object]{
		Key:      func(o *object) (string, error) { return o.Key, o.fails("key") },
		ItemKeys: true,
		Identity: func(o *object) (string, string) {
			identify(o.UID, o.Version)
			return o.UID, o.Version
		},
		Decode:   h.decode,
		Indexers: map[string]IndexFunc[*object]{"group": groupsOf},
		Report:   h.report,
		Log:      h.log,
	}
	for _, option := range options {
		option(&config)
	}
	h.Store = New(config)
	h.cursor = h.log.Cursor()
	return h
}

func packing(c *Config[*object]) { c.Packer = jsonPacker{pack.New()} }

func withoutItemKeys(c *Config[*object]) { c.ItemKeys = false }

func (h *harness) decode(item feed.Item) (*object, error) {
	h.decodes.Add(1)
	o := &object{}
	if err := json.Unmarshal(item.Raw, o); err != nil {
		return nil, err
	}
	return o, o.fails("decode")
}

func (h *harness) report(key string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports = append(h.reports, fmt.Sprintf("%s: %v", key, err))
}

// reported returns what was reported since it was last asked.
func (h *harness) reported() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.reports = nil }()
	return h.reports
}

func (h *harness) apply(eventType watch.EventType, o *object) feed.Outcome {
	return h.Apply(eventType, o.item())
}

// relist feeds a list to the store as a reflector does.
func (h *harness) relist(version string, objects ...*object) {
	next := h.Begin()
	for _, o := range objects {
		next.Add(o.item())
	}
	next.Commit(version)
}

// batches returns what the log has got since it was last asked, a line a batch.
func (h *harness) batches() (lines []string) {
	for {
		batch, ok := h.cursor.TryNext()
		if !ok {
			return lines
		}
		var words []string
		for _, change := range batch {
			words = append(words, h.describe(change))
		}
		lines = append(lines, strings.Join(words, ", "))
	}
}

func (h *harness) describe(change Change[*object]) string {
	id := func(entry *Entry[*object]) string {
		uid, version := identified(entry)
		return "/" + uid + "@" + version
	}
	initial := ""
	if change.Initial {
		initial = " (initial)"
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

// contents returns the objects of a snapshot in the order of their keys.
func contents(s *Snapshot[*object]) (ids []string) {
	for _, o := range s.All() {
		ids = append(ids, o.String())
	}
	return ids
}

// expect checks the log's news and what the store holds.
func (h *harness) expect(t *testing.T, batches []string, holds ...string) {
	t.Helper()
	if got := h.batches(); !slices.Equal(got, batches) {
		t.Errorf("the log got %q, want %q", got, batches)
	}
	if got := contents(h.Snapshot()); !slices.Equal(got, holds) {
		t.Errorf("the store holds %q, want %q", got, holds)
	}
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}

// jsonPacker packs an object as its JSON.
type jsonPacker struct{ *pack.Packer }

func (p jsonPacker) Pack(_ feed.Item, old pack.Object, value func() (*object, error)) (pack.Object, error) {
	o, err := value()
	if err != nil {
		return pack.Object{}, err
	}
	if err := o.fails("pack"); err != nil {
		return pack.Object{}, err
	}
	raw, err := json.Marshal(o)
	return p.Packer.Pack(raw, o.UID, old), err
}

func (jsonPacker) Unpack(packed pack.Object) (*object, error) {
	raw, err := packed.Unpack(nil)
	if err != nil {
		return nil, err
	}
	o := &object{}
	return o, json.Unmarshal(raw, o)
}

// corrupt breaks the bytes that a packed store holds under key, and makes it forget
// the object that somebody may still have.
func (h *harness) corrupt(key string) {
	p := packedOf(h.entries.Get(key))
	p.object = pack.Object{}
	p.live.Store(nil)
}
