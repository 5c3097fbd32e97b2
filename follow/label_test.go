// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// automanaged is the label of the APIServices that the server itself makes.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// apiService returns the APIService of version v1 of group example.com, with its name alone.
func apiService() *unstructured.Unstructured {
	service := &unstructured.Unstructured{}
	service.SetAPIVersion("apiregistration.k8s.io/v1")
	service.SetKind("APIService")
	service.SetName("v1.example.com")
	return service
}

// setLabel sets the label automanaged of an object at the server, or removes it if the value is
// empty.
func (h *harness) setLabel(obj *unstructured.Unstructured, value string) {
	h.t.Helper()
	noError(h.t, h.server.Get(obj))
	labels := map[string]string{"other": "label"}
	if value != "" {
		labels[automanaged] = value
	}
	obj.SetLabels(labels)
	noError(h.t, h.server.Update(obj))
	after(5 * time.Second)
}

// The label of the APIServices that the server makes says nothing of a CustomResourceDefinition:
// the objects of one that is deleted are gone.
func TestDefinitionWithTheLabelOfAPIServices(t *testing.T) {
	for name, row := range map[string]struct {
		first string // value of the label at the creation
		then  []string
		late  bool // the follower starts after the definition
	}{
		"none":                    {},
		"true":                    {first: "true"},
		"onstart":                 {first: "onstart"},
		"another value":           {first: "no"},
		"there at the start":      {first: "true", late: true},
		"added":                   {then: []string{"true"}},
		"added, late start":       {then: []string{"true"}, late: true},
		"removed":                 {first: "true", then: []string{""}},
		"changed":                 {first: "true", then: []string{"onstart"}},
		"removed and added again": {first: "true", then: []string{"", "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, h *harness) {
				informer := h.newWidgets()
				if !row.late {
					h.start(h.follower.Run, informer.Run)
					after(5 * time.Second)
				}
				for range 2 {
					crd := definition()
					if row.first != "" {
						crd.SetLabels(map[string]string{automanaged: row.first})
					}
					noError(t, h.server.Create(crd))
					h.create("v1", "Widget", "a")
					if row.late && h.stop == nil {
						h.start(h.follower.Run, informer.Run)
					}
					after(5 * time.Second)
					for _, value := range row.then {
						h.setLabel(crd, value)
					}
					if n := informer.Store().Len(); n != 1 {
						t.Errorf("%d objects before the deletion, want 1", n)
					}
					noError(t, h.server.Delete(crd))
					after(time.Minute)
					if status := informer.Status(); status.Phase != cache.PhaseNotServed || status.Store.Objects != 0 {
						t.Errorf("phase %s with %d objects after the deletion, error %v", status.Phase, status.Store.Objects, status.Err)
					}
					if err := informer.Store().KeyError("ns/a"); err != nil {
						t.Errorf("read error %v, want none: the object is gone", err)
					}
				}
			})
		})
	}
}

// An APIService of an aggregated API that gets the label is deleted like any other one. Those that
// have the label from the start are the server's own.
func TestAPIServiceWithTheLabel(t *testing.T) {
	for name, row := range map[string]struct{ values []string }{
		"none":                    {},
		"onstart":                 {[]string{"onstart"}},
		"another value":           {[]string{"no"}},
		"changed":                 {[]string{"onstart", "no"}},
		"removed":                 {[]string{"onstart", ""}},
		"removed and added again": {[]string{"onstart", "", "onstart"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, h *harness) {
				noError(t, h.server.Aggregate(fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}))
				h.create("v1", "Widget", "a")
				informer := h.newWidgets()
				h.start(h.follower.Run, informer.Run)
				after(5 * time.Second)
				service := apiService()
				for _, value := range row.values {
					h.setLabel(service, value)
				}
				noError(t, h.server.Delete(service))
				after(time.Minute)
				if phase := informer.Status().Phase; phase != cache.PhaseNotServed {
					t.Errorf("phase %s after the deletion", phase)
				}
				if err := informer.Store().KeyError("ns/a"); !errors.Is(err, cache.ErrNotServed) {
					t.Errorf("read error %v, want ErrNotServed: the object may exist", err)
				}
			})
		})
	}
}
