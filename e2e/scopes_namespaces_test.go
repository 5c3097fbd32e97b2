// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
)

// heldLabel is the label of namespaces whose ConfigMaps an informer holds.
const heldLabel = "e2e.example.com/held"

// TestScopesOfSelectedNamespaces relabels namespaces whose ConfigMaps change all the time. The
// changes of the namespace that always has the label are all delivered, once and in order; those of
// the others as long as they have the label.
func TestScopesOfSelectedNamespaces(t *testing.T) {
	t.Parallel()
	c := shared(t)
	configMaps := newConfigMapCollection(t, c, 3, 300)
	configMaps.fill(t)
	names := configMaps.author.namespaces
	h := namespaceHarness{configMapCollection: configMaps, clientset: configMaps.author.clientset, value: names[0]}
	h.relabel(t, names[0], h.value)
	scopes := h.startNamespaces(t)
	h.informer = startScoped(t, "labelled namespaces", c, &corev1.ConfigMap{}, configMapsByNamespace, scopes)
	configMaps.pace(200)
	configMaps.focus(20)
	for range 3 {
		h.hold(t, names[0], names[1])
		h.hold(t, names[0], names[1], names[2])
		h.hold(t, names[0], names[2])
		h.hold(t, names[0])
	}
	h.informer.expectHistory(t, configMaps.ledger, inNamespaces(names[0]), func(_, _ types.UID) bool { return false })
	h.informer.check(t)
	for _, err := range h.informer.errors.list() {
		t.Errorf("error %v", err)
	}
}

// namespaceHarness is an informer over the namespaces with a value of heldLabel, and a writer.
type namespaceHarness struct {
	*configMapCollection
	clientset kubernetes.Interface
	value     string
	informer  *scopedSubject
}

// startNamespaces runs an informer of all Namespaces and returns the scopes of those with the
// label.
func (h *namespaceHarness) startNamespaces(t *testing.T) *cache.Scopes {
	t.Helper()
	s := newSubject("informer of namespaces", true, h.cluster)
	lw := cache.ListWatchOf(kubernetes.NewForConfigOrDie(s.connect(h.cluster)).CoreV1().Namespaces())
	namespaces := cache.NewSharedInformer(lw, &corev1.Namespace{}, cache.InformerOptions[*corev1.Namespace]{ErrorHandler: s.errors.add})
	scopes, err := cache.NamespaceScopes(namespaces, labels.SelectorFromSet(labels.Set{heldLabel: h.value}))
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, namespaces.Run)
	return scopes
}

func (h *namespaceHarness) relabel(t *testing.T, name, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q}}}`, heldLabel, value)
	if _, err := h.clientset.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// hold relabels the namespaces while the writer writes, so that the given ones have the label. The
// informer must then have their ConfigMaps and no others.
func (h *namespaceHarness) hold(t *testing.T, names ...string) {
	t.Helper()
	step := fmt.Sprint("hold ", names)
	stop := h.start(t)
	defer stop()
	_, changes := h.ledger.size()
	stays := inNamespaces(names...)
	h.informer.scopes.allow(step, func(key string, uid types.UID) bool { return !stays(key, uid) })
	var scopes []cache.Scope
	for _, name := range h.author.namespaces {
		if slices.Contains(names, name) {
			scopes = append(scopes, cache.Scope{Namespace: name})
			h.relabel(t, name, h.value)
		} else {
			h.relabel(t, name, "none")
		}
	}
	await(t, step, func(ctx context.Context) error { return h.informer.atRest(ctx, scopes, len(scopes)) })
	h.awaitChanges(t, changes+changesPerStep)
	stop()
	want := h.ledger.current()
	maps.DeleteFunc(want, func(key string, s state) bool { return !stays(key, s.uid) })
	h.informer.expectObjects(t, want)
	h.informer.scopes.allow("after "+step, nil)
}

// inNamespaces selects the objects of namespaces.
func inNamespaces(names ...string) selects {
	return func(key string, _ types.UID) bool {
		namespace, _, _ := strings.Cut(key, "/")
		return slices.Contains(names, namespace)
	}
}
