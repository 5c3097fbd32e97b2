// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is the resource, object or subresource that a path names.
type target struct {
	schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
}

// parsePath parses a path of one of the forms
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
	if len(segments) > 2 && segments[0] == "namespaces" && !isNamespaceSubresource(segments[2]) {
		t.namespace, segments = segments[1], segments[2:]
	}
	if len(segments) > 3 {
		return target{}, false
	}
	segments = append(segments, "", "")
	t.Resource, t.name, t.subresource = segments[0], segments[1], segments[2]
	return t, true
}

// isNamespaceSubresource reports whether a path segment after /api/v1/namespaces/{name} is a
// subresource of the Namespace rather than a resource in it.
func isNamespaceSubresource(segment string) bool {
	return segment == "status" || segment == "finalize"
}

// groupVersionOf returns the group and version of a path below /apis/{group}/{version}.
func groupVersionOf(path string) (schema.GroupVersion, bool) {
	segments := strings.SplitN(strings.Trim(path, "/"), "/", 4)
	if len(segments) < 3 || segments[0] != "apis" {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: segments[1], Version: segments[2]}, true
}
