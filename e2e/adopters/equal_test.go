// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopters

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	clientcache "k8s.io/client-go/tools/cache"
)

// expectEqual checks that two stores hold equal objects. Messages of protobuf are compared by their
// fields.
func expectEqual(t *testing.T, want, got clientcache.Store) {
	t.Helper()
	keys := want.ListKeys()
	slices.Sort(keys)
	others := got.ListKeys()
	slices.Sort(others)
	if diff := cmp.Diff(keys, others); diff != "" {
		t.Errorf("keys (-client-go +kinformer):\n%s", diff)
	}
	for _, key := range keys {
		wanted, _, err := want.GetByKey(key)
		if err != nil {
			t.Fatal(err)
		}
		obj, found, err := got.GetByKey(key)
		if err != nil || !found {
			t.Errorf("%s: found %v, %v", key, found, err)
		}
		if diff := cmp.Diff(wanted, obj, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-client-go +kinformer):\n%s", key, diff)
		}
	}
}
