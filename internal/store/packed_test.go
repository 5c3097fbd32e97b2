package store

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
)

// An object that somebody holds is decoded once: all readers get the same. One that
// nobody holds is forgotten.
func TestDecodedObjectsAreRememberedWeakly(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	func() {
		first, _ := h.Get("a")
		again, _ := h.Snapshot().Get("a")
		listed := h.Snapshot().List()
		if first != again || first != listed[0] {
			t.Error("one object was decoded several times")
		}
		runtime.KeepAlive(first)
	}()
	p := packedOf(h.entries.Get("a"))
	for range 100 { // cleanups run in a goroutine of the runtime's
		if p.live.Load() == nil {
			break
		}
		runtime.GC()
		runtime.Gosched()
	}
	if p.live.Load() != nil {
		t.Error("what nobody holds is still remembered")
	}
	if o, ok := h.Get("a"); !ok || o.Version != "1" {
		t.Errorf("Get() = %v, %v after it was forgotten", o, ok)
	}
}

// Readers at the same time agree on one object.
func TestReadersOfAPackedEntryAgree(t *testing.T) {
	for range 50 {
		h := newHarness(packing)
		h.relist("1", obj("a/1@1"))
		var group sync.WaitGroup
		got := make([]*object, 8)
		for i := range got {
			group.Go(func() { got[i], _ = h.Get("a") })
		}
		group.Wait()
		for _, o := range got {
			if o != got[0] {
				t.Fatalf("readers hold %p and %p", got[0], o)
			}
		}
	}
}

// A state is packed against the one that it replaces, and each is read as it was.
func TestUpdatesOfPackedEntries(t *testing.T) {
	h := newHarness(packing)
	for i := range 50 {
		o := obj(fmt.Sprintf("a/1@%d", i+1), "g")
		o.Text = fmt.Sprint("text ", i)
		h.apply(watch.Modified, o)
		snapshot := h.Snapshot()
		got, ok := snapshot.Get("a")
		if !ok || got.Text != o.Text || got.Version != o.Version || !slices.Equal(got.Groups, o.Groups) {
			t.Fatalf("got %v, %v, want %v", got, ok, o)
		}
	}
}

// An index which an item answers costs no decode; the others are asked as ever.
func TestItemIndexersSpareTheDecode(t *testing.T) {
	asked := 0
	itemIndexers := func(c *Config[*object]) {
		c.Packer = rawPacker{pack.New()}
		c.Indexers = map[string]IndexFunc[*object]{"key": func(o *object) ([]string, error) {
			asked++
			return []string{o.Key}, nil
		}}
		c.ItemIndexers = map[string]func(feed.Item) ([]string, error){"key": func(item feed.Item) ([]string, error) { return []string{item.Key}, nil }}
	}
	h := newHarness(itemIndexers)
	h.relist("1", obj("a/1@1", "g"), obj("b/1@1", "g"))
	h.apply(watch.Modified, obj("a/1@2", "g"))
	if asked != 0 || h.decodes.Load() != 0 {
		t.Errorf("%d decodes, %d calls of the index function", h.decodes.Load(), asked)
	}
	h.expectFound(t, "key", "a", "a")
	if err := h.AddIndexers(map[string]IndexFunc[*object]{"group": groupsOf}); err != nil {
		t.Fatal(err)
	}
	h.apply(watch.Modified, obj("b/1@3", "h"))
	h.expectFound(t, "group", "h", "b")
	h.expectFound(t, "key", "b", "b")
	if h.decodes.Load() != 1 || asked != 0 {
		t.Errorf("%d decodes, %d calls of the index function", h.decodes.Load(), asked)
	}
}

// rawPacker keeps the bytes of an item as they came.
type rawPacker struct{ *pack.Packer }

func (p rawPacker) Pack(item feed.Item, old pack.Object, _ func() (*object, error)) (pack.Object, error) {
	return p.Packer.Pack(item.Raw, "", old), nil
}

func (p rawPacker) Unpack(packed pack.Object) (*object, error) { return jsonPacker(p).Unpack(packed) }

// Select decodes what matches, whether the labels are read from the value or from the
// bytes.
func TestSelect(t *testing.T) {
	labels := func(c *Config[*object]) {
		c.Labels = func(o *object) map[string]string { return map[string]string{"text": o.Text} }
	}
	packer := &labelPacker{rawPacker: rawPacker{pack.New()}}
	for name, options := range map[string][]func(*Config[*object]){
		"live":                          {labels},
		"packed":                        {labels, packing},
		"packed, with labels in bytes":  {labels, func(c *Config[*object]) { c.Packer = packer }},
		"packed, with unreadable bytes": {labels, func(c *Config[*object]) { c.Packer = &labelPacker{rawPacker: rawPacker{pack.New()}, broken: true} }},
	} {
		h := newHarness(options...)
		var list []*object
		for i := range 10 {
			o := obj(fmt.Sprintf("%d/1@1", i), "g"+strconv.Itoa(i%2))
			o.Text = strconv.Itoa(i % 5)
			list = append(list, o)
		}
		h.relist("1", list...)
		is := func(text string) func(map[string]string) bool {
			return func(labels map[string]string) bool { return labels["text"] == text }
		}
		if got := h.Snapshot().Select(is("3")); len(got) != 2 || got[0].Text != "3" || got[1].Text != "3" {
			t.Errorf("%s: selected %v, want two objects", name, got)
		}
		got, err := h.Snapshot().SelectByIndex("group", "g1", is("3"))
		if err != nil || len(got) != 1 || got[0].Key != "3" {
			t.Errorf("%s: selected %v in the index, want 3: %v", name, got, err)
		}
		if _, err := h.Snapshot().SelectByIndex("none", "", nil); err == nil {
			t.Errorf("%s: no error of an index that there is not", name)
		}
	}
	if packer.unpacked > 4 { // what somebody holds is not unpacked again
		t.Errorf("%d of 10 objects were unpacked for the three that matched", packer.unpacked)
	}
}

// labelPacker can read labels, or claims to.
type labelPacker struct {
	rawPacker
	broken   bool
	unpacked int
}

func (p *labelPacker) Unpack(packed pack.Object) (*object, error) {
	p.unpacked++
	return p.rawPacker.Unpack(packed)
}

func (p *labelPacker) Labels(packed pack.Object) (map[string]string, error) {
	if p.broken {
		return nil, errors.New("broken")
	}
	o, err := p.rawPacker.Unpack(packed)
	return map[string]string{"text": o.Text}, err
}
