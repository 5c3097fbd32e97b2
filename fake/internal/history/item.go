// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
)

// Object is an API object with metadata: a typed object, unstructured, or metadata only.
type Object interface {
	runtime.Object
	metav1.Object
}

// Key returns the key of an object in its collection: namespace/name, or the name alone for a
// cluster-scoped object. Sorted by bytes, keys are in the order of the real server's lists.
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

// Item is one version of one object, with the labels and fields that selectors read.
type Item struct {
	Key     string
	Version uint64
	Object  Object // never modified

	namespace string
	labels    labels.Set
	fields    fields.Fields
}

// newItem returns an item for an object and sets the object's resourceVersion. The caller must not
// use the object afterwards.
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

// FormatVersion returns a version as the text of a resourceVersion.
func FormatVersion(version uint64) string {
	return strconv.FormatUint(version, 10)
}

// query selects the part of a collection that a request asks for.
type query struct {
	namespace string // empty for all namespaces
	labels    labels.Selector
	fields    fields.Selector
	shards    sharding.Selector // empty unless the gate is on
}

// matches reports whether an item matches the query. A nil item, for an object that does not exist,
// does not match.
func (q query) matches(item *Item) bool {
	if item == nil {
		return false
	}
	if q.namespace != "" && q.namespace != item.namespace {
		return false
	}
	return (q.labels.Empty() || q.labels.Matches(item.labels)) && (q.fields.Empty() || q.fields.Matches(item.fields)) && q.inShards(item)
}

// inShards reports whether an item is in the query's shards. A selector that was parsed returns no
// error.
func (q query) inShards(item *Item) bool {
	matches, err := q.shards.Matches(item.Object)
	return matches && err == nil
}

// shardInfo returns what the metadata of a list says about its shards: nil if it has all objects.
func (q query) shardInfo() *metav1.ShardInfo {
	if q.shards.Empty() {
		return nil
	}
	return &metav1.ShardInfo{Selector: q.shards.String()}
}

// hasSelector reports whether the query has a label or field selector. A shard selector does not
// count, as in the real server.
func (q query) hasSelector() bool {
	return !q.labels.Empty() || !q.fields.Empty()
}

// inNamespace returns the items in the query's namespace from a slice sorted by key.
func (q query) inNamespace(sorted []*Item) []*Item {
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
