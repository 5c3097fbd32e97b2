// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/examples/internal/terminal"
	"github.com/kinformer/kinformer/fake"
)

const testTimeout = time.Minute

// harness is three replicas and their ConfigMaps.
type harness struct {
	*view
	t          *testing.T
	options    options
	collection *collection
	configMaps *cache.SharedInformer[*corev1.ConfigMap] // the whole collection
}

func newHarness(t *testing.T, sharding bool) *harness {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{ShardedListAndWatch: sharding})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	o := options{server: server.URL(), namespace: "test", configMaps: 200, changes: 10, leaseDuration: 2 * time.Second}
	data, err := newCollection(server.Config(), o)
	if err == nil {
		err = data.create(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, options: o, collection: data, view: &view{configMaps: o.configMaps, replicas: o.newReplicas(os.Stderr), out: t.Output()}}
	t.Cleanup(h.close)
	h.watch(kubernetes.NewForConfigOrDie(server.Config()))
	return h
}

// watch runs an informer of all ConfigMaps, and checks that no stamp replaces one of a later owner.
func (h *harness) watch(client kubernetes.Interface) {
	h.t.Helper()
	h.configMaps = cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().ConfigMaps(h.options.namespace)), &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{})
	_, err := h.configMaps.AddEventHandler(cache.EventHandlerFunc[*corev1.ConfigMap](func(event cache.Event[*corev1.ConfigMap]) {
		if event.Old != nil && transition(event.New) < transition(event.Old) {
			h.t.Errorf("stamp %v was replaced by %v", event.Old.Annotations, event.New.Annotations)
		}
	}), cache.HandlerOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- h.configMaps.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		<-stopped
	})
}

func transition(configMap *corev1.ConfigMap) int {
	n, _ := strconv.Atoi(configMap.Annotations["example.com/transition"]) // zero without a stamp
	return n
}

func (h *harness) press(keys string) {
	h.t.Helper()
	for _, key := range []byte(keys) {
		if err := h.view.press(key); err != nil {
			h.t.Fatal(err)
		}
	}
}

// await waits until awaitOwners would return, and every ConfigMap has a stamp of its present data
// by one of the owners.
func (h *harness) await(names string) {
	h.t.Helper()
	h.awaitTable(func(shown table) bool { return hasOwners(shown, names) && h.allStamped(shown) })
}

// awaitOwners waits until each slot has an owner with one of these names, each of them owns a slot,
// and they hold all ConfigMaps.
func (h *harness) awaitOwners(names string) {
	h.t.Helper()
	h.awaitTable(func(shown table) bool { return hasOwners(shown, names) })
}

func (h *harness) awaitTable(condition func(table) bool) {
	h.t.Helper()
	deadline, ticker := time.After(testTimeout), time.NewTicker(50*time.Millisecond)
	defer ticker.Stop()
	for {
		shown := h.table(-1)
		if strings.Contains(shown.summary(), "200 of 200 ConfigMaps") && condition(shown) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			h.t.Fatalf("the replicas do not get there:\n%s", terminal.Text("", shown.state()))
		}
	}
}

// hasOwners reports whether each name owns a slot, and nothing else does.
func hasOwners(shown table, names string) bool {
	for _, name := range names {
		if !strings.ContainsRune(shown.owners(), name) {
			return false
		}
	}
	return strings.Trim(shown.owners(), names) == ""
}

func (h *harness) allStamped(shown table) bool {
	owner := make(map[string]bool)
	for _, s := range shown.statuses {
		owner[s.report.Incarnation] = s.alive
	}
	for _, configMap := range h.configMaps.Store().List() {
		if !owner[configMap.Annotations["example.com/owner"]] || configMap.Annotations["example.com/seen"] != configMap.Data["change"] {
			return false
		}
	}
	return true
}

// TestReplicasTakeOver kills, pauses, stops and restarts replicas while ConfigMaps change.
func TestReplicasTakeOver(t *testing.T) {
	h := newHarness(t, true)
	changing, cancel := context.WithCancel(t.Context())
	changed := make(chan error, 1)
	go func() { changed <- h.collection.change(changing) }()

	h.press("1r2r3r")
	h.awaitOwners("abc")
	h.press("2k")
	h.awaitOwners("ac")
	h.press("1p")
	h.awaitOwners("c")
	h.press("p2r")
	h.awaitOwners("abc")
	h.press("3s")
	h.awaitOwners("ab")

	cancel()
	if err := <-changed; err != nil {
		t.Error(err)
	}
	h.await("ab")
}

// TestPausedReplicaStampsWhatHasChanged pauses the only replica for longer than its Leases last,
// with a server that ignores shard selectors.
func TestPausedReplicaStampsWhatHasChanged(t *testing.T) {
	h := newHarness(t, false)
	h.press("1r")
	h.await("a")
	h.press("p")
	configMap, err := h.collection.client.CoreV1().ConfigMaps("test").Get(t.Context(), name(0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	configMap.Data["change"] = "while paused"
	if _, err := h.collection.client.CoreV1().ConfigMaps("test").Update(t.Context(), configMap, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := h.configMaps.WaitForObject(t.Context(), configMap); err != nil {
		t.Fatal(err)
	}
	<-time.After(h.options.leaseDuration)
	h.press("p")
	h.await("a")
}
