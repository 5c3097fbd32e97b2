package upstream

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

const (
	// space is the namespace of what a test is about.
	space = "default"
	// crowdSize is how many objects there are that nobody looks at.
	crowdSize = 100
	// handful is more events than a handler takes at a time: those are told as they are.
	handful = 200
	// backlog is how many events make a handler be behind so far that events are joined for it. In a small collection that
	// is 10,000.
	backlog = 11_000
)

// gather creates the crowd: objects in a namespace of their own.
func gather[T cache.Object](lw *fake.ListerWatcher[T], blank func() T) {
	lw.LimitHistory(10 * backlog) // whoever watches in a bubble of synctest may be far behind the writer
	for i := range crowdSize {
		obj := blank()
		obj.SetNamespace("crowd")
		obj.SetName(crowdName(i))
		lw.Create(obj)
	}
}

// crowd makes so many events, of the crowd.
func crowd[T cache.Object](lw *fake.ListerWatcher[T], events int) {
	for i := range events {
		if obj, ok := lw.Get("crowd/" + crowdName(i%crowdSize)); ok {
			lw.Update(obj)
		}
	}
}

// stick makes handlers stick in a call, their hands full of events of the crowd.
func stick[T cache.Object](gate *gate, lw *fake.ListerWatcher[T]) {
	pass(time.Second)
	gate.shut()
	crowd(lw, handful)
}

// expectJoined holds that the backlog was told event by event, or was not, as the delivery is.
func expectJoined(t *testing.T, calls int, how delivery) {
	t.Helper()
	if told := calls > backlog; told == how.joins() {
		t.Errorf("the handler was called %d times for %d events", calls, backlog)
	}
}

// listed returns what a collection holds outside of the crowd.
func listed[T cache.Object](t *testing.T, lw *fake.ListerWatcher[T], selector labels.Selector) []T {
	t.Helper()
	list, err := lw.List(t.Context(), metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		t.Fatal(err)
	}
	var objs []T
	if err := meta.EachListItem(list, func(item runtime.Object) error {
		if obj := item.(T); obj.GetNamespace() == space {
			objs = append(objs, obj)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return objs
}

func crowdName(i int) string { return fmt.Sprintf("crowd-%02d", i) }

// key is an object's key.
func key(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
