package history

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is what the memory holds: every type with metadata, typed, unstructured or metadata only.
type Object interface {
	runtime.Object
	metav1.Object
}

// Key is the place of an object in its collection: namespace/name, or the name alone where there is no namespace. In the order of
// their bytes, keys are in the order in which a real server lists.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// KeyOf returns the key of an object.
func KeyOf(obj Object) string {
	return Key(obj.GetNamespace(), obj.GetName())
}

// Item is one state of one object, with what selectors look at taken out of it once.
type Item struct {
	Key     string
	Version uint64
	Object  Object // never changed once the item exists

	namespace string
	labels    labels.Set
	fields    fields.Fields
}

// newItem stamps the version on an object, which belongs to the item from then on.
func (c *Collection) newItem(key string, version uint64, obj Object) *Item {
	obj.SetResourceVersion(FormatVersion(version))
	return &Item{
		Key:       key,
		Version:   version,
		Object:    obj,
		namespace: obj.GetNamespace(),
		labels:    obj.GetLabels(),
		fields:    c.spec.Fields(obj),
	}
}

// FormatVersion writes a version the way objects carry it.
func FormatVersion(version uint64) string {
	return strconv.FormatUint(version, 10)
}

// query is the part of a collection that a request asks for.
type query struct {
	namespace string // empty: all
	labels    labels.Selector
	fields    fields.Selector
}

// matches tells whether an item belongs to what was asked for; nil, an object that does not exist, never does.
func (q query) matches(item *Item) bool {
	if item == nil {
		return false
	}
	if q.namespace != "" && q.namespace != item.namespace {
		return false
	}
	return (q.labels.Empty() || q.labels.Matches(item.labels)) && (q.fields.Empty() || q.fields.Matches(item.fields))
}

// selective tells whether anything but the namespace narrows the request.
func (q query) selective() bool {
	return !q.labels.Empty() || !q.fields.Empty()
}

// within cuts the items of the query's namespace out of a list in key order.
func (q query) within(sorted []*Item) []*Item {
	if q.namespace == "" {
		return sorted
	}
	prefix := q.namespace + "/"
	from := seek(sorted, prefix)
	to := from
	for to < len(sorted) && strings.HasPrefix(sorted[to].Key, prefix) {
		to++
	}
	return sorted[from:to]
}
