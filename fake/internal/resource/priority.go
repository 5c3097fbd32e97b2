// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Priority orders the groups and versions of a server, the highest first. It is part of the spec of
// an APIService.
type Priority struct{ Group, Version int32 }

// CustomPriority returns the priority of each group and version of custom resources, as in
// kube-apiserver.
func CustomPriority() Priority {
	return Priority{Group: 1000, Version: 100}
}

// BuiltInPriority returns the priority of a built-in group and version, as in kube-apiserver. A
// group of a later Kubernetes than this package knows comes behind the others, and before custom
// resources.
func BuiltInPriority(gv schema.GroupVersion) Priority {
	group, ok := builtInGroups()[gv.Group]
	if !ok {
		group = 15500
	}
	return Priority{Group: group, Version: builtInVersionPriority(gv)}
}

// builtInGroups returns the priorities of the built-in groups.
func builtInGroups() map[string]int32 {
	return map[string]int32{
		"": 18000, "apiregistration.k8s.io": 20000,
		"apps": 17800, "events.k8s.io": 17750, "authentication.k8s.io": 17700, "authorization.k8s.io": 17600,
		"autoscaling": 17500, "batch": 17400, "certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100,
		"rbac.authorization.k8s.io": 17000, "storage.k8s.io": 16800,
		"apiextensions.k8s.io": 16700, "admissionregistration.k8s.io": 16700,
		"scheduling.k8s.io": 16600, "coordination.k8s.io": 16500, "node.k8s.io": 16300,
		"discovery.k8s.io": 16200, "resource.k8s.io": 16200,
		"flowcontrol.apiserver.k8s.io": 16100, "internal.apiserver.k8s.io": 16000, "storagemigration.k8s.io": 15800,
		"extensions": 15700, "imagepolicy.k8s.io": 15600, // not in kube-apiserver
	}
}

// builtInVersionPriority returns the priority of a version in its group. It prefers stable to beta
// to alpha versions. Versions with equal priorities are ordered by their names.
func builtInVersionPriority(gv schema.GroupVersion) int32 {
	switch {
	case gv.Group == "":
		return 1
	case gv == schema.GroupVersion{Group: "autoscaling", Version: "v2"}:
		return 30
	case gv.Version == "v1" && (gv.Group == "flowcontrol.apiserver.k8s.io" || gv.Group == "resource.k8s.io"):
		return 21
	case strings.Contains(gv.Version, "alpha"):
		return 1
	case strings.Contains(gv.Version, "beta"):
		return 9
	}
	return 15
}
