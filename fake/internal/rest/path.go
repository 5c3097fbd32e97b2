package rest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is what a path names.
type target struct {
	schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
}

// parsePath reads
//
//	/api/{version}/...           the core group
//	/apis/{group}/{version}/...
//	     [namespaces/{namespace}/]{resource}[/{name}[/{subresource}]]
func parsePath(path string) (target, bool) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if slices.Contains(segments, "") {
		return target{}, false
	}
	var t target
	switch {
	case len(segments) >= 3 && segments[0] == "api":
		t.Version, segments = segments[1], segments[2:]
	case len(segments) >= 4 && segments[0] == "apis":
		t.Group, t.Version, segments = segments[1], segments[2], segments[3:]
	default:
		return target{}, false
	}
	if len(segments) > 2 && segments[0] == "namespaces" && !ofNamespaceItself(segments[2]) {
		t.namespace, segments = segments[1], segments[2:]
	}
	if len(segments) > 3 {
		return target{}, false
	}
	segments = append(segments, "", "")
	t.Resource, t.name, t.subresource = segments[0], segments[1], segments[2]
	return t, true
}

// ofNamespaceItself tells what may follow /api/v1/namespaces/{name} without being a resource in that namespace.
func ofNamespaceItself(segment string) bool {
	return segment == "status" || segment == "finalize"
}
