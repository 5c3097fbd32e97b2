// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/fake"
)

func discover(t *testing.T) *cluster.Catalog {
	t.Helper()
	server := clustertest.Start(t, fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1", "v1beta1"}, Kind: "Widget", ClusterScoped: true}},
	})
	catalog, err := server.Client(cluster.Options{}).Discover()
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func TestResourcesAreFoundByKubectlsNames(t *testing.T) {
	catalog := discover(t)
	for name, want := range map[string]string{
		"pods": "/api/v1/pods", "pod": "/api/v1/pods", "po": "/api/v1/pods", "Pods": "/api/v1/pods",
		"deploy": "/apis/apps/v1/deployments", "deployments.apps": "/apis/apps/v1/deployments", "deployments.v1.apps": "/apis/apps/v1/deployments",
		"deployments.v1beta1.apps": "/apis/apps/v1beta1/deployments",
		"events":                   "/api/v1/events",
		"widgets":                  "/apis/example.com/v1/widgets", "widgets.v1beta1.example.com": "/apis/example.com/v1beta1/widgets",
	} {
		r, err := catalog.Find(name)
		if err != nil {
			t.Error(err)
		} else if got := r.Path(""); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestResourceDescribesItself(t *testing.T) {
	catalog := discover(t)
	deployments, err := catalog.Find("deploy")
	if err != nil {
		t.Fatal(err)
	}
	if deployments.Kind != "Deployment" || deployments.Name() != "deployments.apps" || !deployments.Supports("watch") || deployments.Supports("fly") {
		t.Errorf("%+v", deployments)
	}
	if got, want := deployments.Path("a"), "/apis/apps/v1/namespaces/a/deployments"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
	widgets, err := catalog.Find("widgets")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := widgets.Path("a"), "/apis/example.com/v1/widgets"; got != want || widgets.Namespaced {
		t.Errorf("path %s, want %s", got, want)
	}
}

// TestFailingGroupIsNotRequestedAgain looks up several names where the resources of one group
// cannot be read, as those of an aggregated API that is down.
func TestFailingGroupIsNotRequestedAgain(t *testing.T) {
	server := clustertest.Start(t, fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}},
	})
	proxy := legacyProxy(t, server.URL())
	var all, down atomic.Int64
	client := serve(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		all.Add(1)
		if r.URL.Path == "/apis/example.com/v1" {
			down.Add(1)
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	})
	catalog, err := client.Discover()
	if err != nil {
		t.Fatal(err)
	}
	requests := all.Load()
	for _, name := range []string{"pods", "deploy", "po"} {
		if _, err := catalog.Find(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := catalog.Find("widgets"); err == nil {
		t.Error("found a resource of the failing group")
	}
	if _, err := catalog.All(); err != nil || len(catalog.Failed) != 1 || catalog.Failed[0].Group != "example.com" {
		t.Errorf("failed groups %v, error %v", catalog.Failed, err)
	}
	if more := all.Load() - requests; down.Load() > 2 || more != 0 {
		t.Errorf("the failing group was requested %d times, and %d requests followed", down.Load(), more)
	}
}

// legacyProxy returns a proxy of a server without aggregated discovery.
func legacyProxy(t *testing.T, server string) http.HandlerFunc {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	return func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Accept", "application/json")
		proxy.ServeHTTP(w, r)
	}
}

func TestUnknownResourceIsNamed(t *testing.T) {
	_, err := discover(t).Find("Gadgets")
	if err == nil || err.Error() != `unknown resource "Gadgets"; kubectl api-resources lists those of the server` {
		t.Errorf("error %v", err)
	}
}

func TestAllResourcesAreListedInOneVersion(t *testing.T) {
	all, err := discover(t).All()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range all {
		names = append(names, r.Name())
		if !r.Supports("list") || strings.Contains(r.Resource, "/") {
			t.Errorf("%s cannot be listed", r.Name())
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not sorted, or more than one version: %v", names)
	}
	for _, name := range []string{"pods", "deployments.apps", "widgets.example.com", "secrets", "events"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing in %v", name, names)
		}
	}
}

func TestInformersNeedListAndWatch(t *testing.T) {
	for verbs, want := range map[string]bool{"get list watch": true, "get watch": false, "get list": false, "": false} {
		if got := (&cluster.Resource{Verbs: strings.Fields(verbs)}).Cacheable(); got != want {
			t.Errorf("verbs %q: %v, want %v", verbs, got, want)
		}
	}
}

// TestErrorsOfDiscoveryKeepTheirText refuses discovery as kube-apiserver does, with a Status.
func TestErrorsOfDiscoveryKeepTheirText(t *testing.T) {
	server := clustertest.Start(t, fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}},
	})
	refuse := func(path string) {
		server.InjectFault(-1, func(r fake.APIRequest) bool { return r.HTTP.URL.Path == path },
			fake.Fault{Err: apierrors.NewForbidden(schema.GroupResource{Resource: path}, "", errors.New("cannot impersonate"))})
	}
	refuse("/apis/example.com/v1")
	client := serve(t, t.Context(), legacyProxy(t, server.URL()))
	catalog, err := client.Discover()
	if err != nil {
		t.Fatal(err)
	}
	_, err = catalog.Find("widgets")
	if err == nil || !strings.Contains(err.Error(), "unknown resource") || !strings.Contains(err.Error(), "cannot impersonate") {
		t.Errorf("error %v", err)
	}
	if _, err := catalog.All(); err != nil || len(catalog.Failed) != 1 || !strings.Contains(catalog.Failure(catalog.Failed[0]).Error(), "cannot impersonate") {
		t.Errorf("failed groups %v, error %v", catalog.Failed, err)
	}
	refuse("/api")
	_, err = client.Discover()
	if err == nil || !strings.HasSuffix(err.Error(), ": /api is forbidden: cannot impersonate") {
		t.Errorf("error %v", err)
	}
}
