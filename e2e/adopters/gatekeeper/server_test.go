// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// timeout is how long a test waits for a state.
const timeout = 30 * time.Second

// TestSyncWithKubeAPIServer installs and deletes the definitions of Configs and Widgets.
func TestSyncWithKubeAPIServer(t *testing.T) {
	server := cluster.New(t, cluster.Options{}).Config()
	client := dynamic.NewForConfigOrDie(server)
	h := &harness{t: t}
	defer h.run(server)()

	create(t, client, "", definition(configKind))
	create(t, client, "default", config("first", widgetKind))
	for n := range 3 {
		name := fmt.Sprint("gear-", n)
		create(t, client, "", definition(widgetKind))
		create(t, client, "default", object(widgetKind, name))
		h.await("Widget " + name)
		resource, _ := meta.UnsafeGuessKindToResource(definition(widgetKind).GroupVersionKind())
		must(t, client.Resource(resource).Delete(t.Context(), definition(widgetKind).GetName(), metav1.DeleteOptions{}))
		h.await("")
	}
}

// create creates an object, once its kind is served and an earlier one of its name is gone.
func create(t *testing.T, client dynamic.Interface, namespace string, obj *unstructured.Unstructured) {
	t.Helper()
	resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	until(t, func() error {
		_, err := client.Resource(resource).Namespace(namespace).Create(t.Context(), obj, metav1.CreateOptions{})
		return err
	})
}

// await waits until the data cache has a content.
func (h *harness) await(want string) {
	h.t.Helper()
	until(h.t, func() error {
		if got := h.data.String(); got != want {
			return fmt.Errorf("the data cache has %q, want %q", got, want)
		}
		return nil
	})
}

// until calls a function until it returns nil.
func until(t *testing.T, function func() error) {
	t.Helper()
	expired := time.After(timeout)
	for err := function(); err != nil; err = function() {
		select {
		case <-expired:
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
