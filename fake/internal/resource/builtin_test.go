// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestBuiltInDescribesResources(t *testing.T) {
	type facts struct {
		kind       string
		namespaced bool
		hasStatus  bool
	}
	want := map[string]facts{
		"/v1, Resource=pods":                                          {"Pod", true, true},
		"/v1, Resource=nodes":                                         {"Node", false, true},
		"/v1, Resource=namespaces":                                    {"Namespace", false, true},
		"/v1, Resource=endpoints":                                     {"Endpoints", true, false},
		"/v1, Resource=events":                                        {"Event", true, false},
		"/v1, Resource=persistentvolumes":                             {"PersistentVolume", false, true},
		"/v1, Resource=secrets":                                       {"Secret", true, false},
		"apps/v1, Resource=deployments":                               {"Deployment", true, true},
		"apps/v1, Resource=controllerrevisions":                       {"ControllerRevision", true, false},
		"networking.k8s.io/v1, Resource=networkpolicies":              {"NetworkPolicy", true, false},
		"networking.k8s.io/v1, Resource=ingresses":                    {"Ingress", true, true},
		"rbac.authorization.k8s.io/v1, Resource=clusterroles":         {"ClusterRole", false, false},
		"coordination.k8s.io/v1, Resource=leases":                     {"Lease", true, false},
		"storage.k8s.io/v1, Resource=storageclasses":                  {"StorageClass", false, false},
		"discovery.k8s.io/v1, Resource=endpointslices":                {"EndpointSlice", true, false},
		"certificates.k8s.io/v1, Resource=certificatesigningrequests": {"CertificateSigningRequest", false, true},
	}
	seen := map[schema.GroupVersionResource]bool{}
	for _, r := range BuiltIn() {
		if seen[r.GroupVersionResource] {
			t.Errorf("%s returned twice", r.GroupVersionResource)
		}
		seen[r.GroupVersionResource] = true
		if facts, ok := want[r.String()]; ok {
			delete(want, r.String())
			if r.Kind.Kind != facts.kind || r.Namespaced != facts.namespaced || r.HasStatus != facts.hasStatus {
				t.Errorf("%s: got %s, namespaced %v, status %v; want %+v", r.GroupVersionResource, r.Kind.Kind, r.Namespaced, r.HasStatus, facts)
			}
		}
		if got := r.New().GetObjectKind().GroupVersionKind(); got != r.Kind {
			t.Errorf("%s: New returned kind %s, want %s", r.GroupVersionResource, got, r.Kind)
		}
		if _, ok := reflect.TypeOf(r.New()).Elem().FieldByName("Status"); r.HasStatus && !ok {
			t.Errorf("%s has a status subresource but no field Status", r.GroupVersionResource)
		}
		list, err := r.List(nil, metav1.ListMeta{ResourceVersion: "7"})
		if err != nil || list.GetObjectKind().GroupVersionKind().Kind != r.Kind.Kind+"List" {
			t.Errorf("%s: List returned %T, %v", r.GroupVersionResource, list, err)
		}
	}
	for missing := range want {
		t.Errorf("%s is missing", missing)
	}
}

// Every type with a list in client-go's scheme is served, except the types that the clientset
// cannot list.
func TestBuiltInServesAllListableTypes(t *testing.T) {
	served := map[schema.GroupVersionKind]bool{}
	for _, r := range BuiltIn() {
		served[r.Kind] = true
	}
	notServed := map[string]bool{
		"List": true, "APIGroupList": true, "APIResourceList": true, // not of objects
		"PodStatusResult": true, "RangeAllocation": true, // internal to the real server
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		item := gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List"))
		if item == gvk || !scheme.Scheme.Recognizes(item) || notServed[gvk.Kind] {
			continue
		}
		if !served[item] {
			t.Errorf("%s has a list in the scheme but is not served", item)
		}
	}
}
