// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/e2e/objects"
)

// TestServerServesPutObject checks that the API serves an object that was written to etcd
// unchanged, at the version of that write.
func TestServerServesPutObject(t *testing.T) {
	t.Parallel()
	c := shared(t)
	clientset := clientsetFor(t, c)
	want := objects.NewWorkload(seed, 3, namespace(t, clientset)).Pod(0)
	want.Name, want.GenerateName, want.UID = "put", "", "ffffffff-0000-4000-8000-000000000000"
	want.Status.Phase = "Running" // a client cannot set it in the request that creates the Pod
	before, err := c.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Put(t.Context(), "pods/"+want.Namespace+"/"+want.Name, "v1", "Pod", want); err != nil {
		t.Fatal(err)
	}
	got, err := clientset.CoreV1().Pods(want.Namespace).Get(t.Context(), want.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if version, err := strconv.ParseInt(got.ResourceVersion, 10, 64); err != nil || version <= before {
		t.Errorf("the Pod is at version %q, want more than %d, etcd's before the write: %v", got.ResourceVersion, before, err)
	}
	if got.UID != want.UID || got.Status.Phase != want.Status.Phase || !apiequality.Semantic.DeepEqual(got.Labels, want.Labels) {
		t.Errorf("the API serves\n%+v\nwant the object in etcd\n%+v", got, want)
	}
}
