package informer

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// visible is a filter that refuses objects in the state "hidden".
func visible(obj runtime.Object) bool { return !strings.HasSuffix(obj.(rawObject).text, "=hidden") }

// rawItem returns an item that a filter can decode.
func rawItem(object, version string) feed.Item {
	i := item(object, version)
	i.Codec = rawObjectCodec{}
	return i
}

// An object that leaves the filter is recorded as filtered out before its entry is removed, so that
// no handler receives the deletion and takes the object for deleted.
func TestObjectIsFilteredOutBeforeItIsRemoved(t *testing.T) {
	var sink *filterSink[string]
	config := Config[string]{Filter: visible, Store: stringStore()}
	config.Store.Identity = func(object string) (string, string) { return "uid-a", "" }
	removing := false
	config.Store.Decode = func(i feed.Item) (string, error) {
		if string(i.Raw) == "a=hidden" { // the state at deletion, decoded right before the removal
			removing = true
			if !sink.isFilteredOut("a", "uid-a") {
				t.Error("the object is being removed and not recorded as filtered out")
			}
		}
		return string(i.Raw), nil
	}
	sink = New(config).sink
	sink.Apply(watch.Added, rawItem("a=1", "1"))
	sink.Apply(watch.Modified, rawItem("a=hidden", "2"))
	if !removing || sink.Len() != 0 {
		t.Errorf("the object was not removed: %d objects", sink.Len())
	}
}

// failingReplacement is a replacement whose Commit fails.
type failingReplacement struct{ feed.Replacement }

func (failingReplacement) Commit(string) error { return errors.New("refused") }

// A list that cannot be committed changes nothing, neither which objects are filtered out.
func TestFailedCommitKeepsWhatIsFilteredOut(t *testing.T) {
	config := Config[string]{Filter: visible, Store: stringStore()}
	sink := New(config).sink
	sink.Apply(watch.Added, rawItem("a=1", "1"))
	sink.Apply(watch.Modified, rawItem("a=hidden", "2"))
	next := sink.Begin().(*filterReplacement[string])
	next.Replacement = failingReplacement{next.Replacement}
	next.Add(rawItem("a=2", "3"))
	if err := next.Commit("3"); err == nil {
		t.Fatal("Commit returned nil, want an error")
	}
	if !sink.isFilteredOut("a", "uid-a") {
		t.Error("the object is not recorded as filtered out any more")
	}
}
