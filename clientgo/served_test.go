// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestResourceOfPath(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods":                                 "/v1 pods",
		"/api/v1/namespaces":                           "/v1 namespaces",
		"/api/v1/namespaces/ns/pods":                   "/v1 pods",
		"/apis/apps/v1/deployments":                    "apps/v1 deployments",
		"/apis/apps/v1/namespaces/ns/deployments":      "apps/v1 deployments",
		"/k8s/clusters/c-1/apis/example.com/v1/things": "example.com/v1 things",
		"/k8s/clusters/c-1/api/v1/pods":                "/v1 pods",
		"/apis/apps/v1":                                "",
		"/api/v1":                                      "",
		"/apis/apps/v1/":                               "",
		"/version":                                     "",
		"/api/v1/namespaces/ns/pods/name":              "",
	} {
		got, ok := resourceOf(path)
		if ok != (want != "") {
			t.Errorf("%s: found %v", path, ok)
		}
		if text := got.Group + "/" + got.Version + " " + got.Resource; ok && text != want || !ok && got != (schema.GroupVersionResource{}) {
			t.Errorf("%s: %q, want %q", path, text, want)
		}
	}
}
