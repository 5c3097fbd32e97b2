// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import "testing"

func TestParsePathReturnsTarget(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods":                                    "/v1 pods ns= name= sub=",
		"/api/v1/pods/":                                   "/v1 pods ns= name= sub=",
		"/api/v1/nodes/n1":                                "/v1 nodes ns= name=n1 sub=",
		"/api/v1/nodes/n1/status":                         "/v1 nodes ns= name=n1 sub=status",
		"/api/v1/namespaces":                              "/v1 namespaces ns= name= sub=",
		"/api/v1/namespaces/x":                            "/v1 namespaces ns= name=x sub=",
		"/api/v1/namespaces/x/status":                     "/v1 namespaces ns= name=x sub=status",
		"/api/v1/namespaces/x/finalize":                   "/v1 namespaces ns= name=x sub=finalize",
		"/api/v1/namespaces/x/pods":                       "/v1 pods ns=x name= sub=",
		"/api/v1/namespaces/x/pods/p":                     "/v1 pods ns=x name=p sub=",
		"/apis/apps/v1/namespaces/x/deployments/d/status": "apps/v1 deployments ns=x name=d sub=status",
		"/apis/apps/v1/deployments":                       "apps/v1 deployments ns= name= sub=",
		"/":                                               "",
		"/api":                                            "",
		"/api/v1":                                         "",
		"/apis/apps/v1":                                   "",
		"/api/v1//pods":                                   "",
		"/other/v1/pods":                                  "",
		"/api/v1/namespaces/x/pods/p/status/more":         "",
	} {
		got := ""
		if t, ok := parsePath(path); ok {
			got = t.Group + "/" + t.Version + " " + t.Resource + " ns=" + t.namespace + " name=" + t.name + " sub=" + t.subresource
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
