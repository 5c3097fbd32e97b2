// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
)

const (
	startObjects = 2_000
	rareLabel    = "e2e.example.com/rare"
)

// TestStartOverServers checks the first requests of informers to a real kube-apiserver, and that
// the informers sync with its objects: Pods, Events, which kube-apiserver does not cache, one of
// 2,000 ConfigMaps by its label, and one that a Role names.
func TestStartOverServers(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{RBAC: true})
	clientset := clientsetFor(t, c)
	configMaps := newRareConfigMap(t, c, startObjects)
	pods := newPodCollection(t, c, 40)
	pods.fill(t)
	putEvents(t, c, pods.namespace, 700)
	named := configMaps.author.configMap(0)
	allowNamed(t, clientset, named.Namespace, named.Name)
	revision, err := c.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	server, err := clientset.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	old := utilversion.MustParseGeneric(server.GitVersion).LessThan(utilversion.MustParseGeneric("1.31"))

	for _, streaming := range []bool{true, false} {
		t.Run(modeName(streaming), func(t *testing.T) {
			t.Run("Pods", func(t *testing.T) {
				s := startInformer(t, c, streaming, &corev1.Pod{}, pods.list)
				s.expectSettled(t, pods.truth(t))
				s.expectStart(t, revision, old, "", "")
			})
			t.Run("Events", func(t *testing.T) {
				client := clientset.CoreV1().Events(pods.namespace)
				s := startInformer(t, c, streaming, &corev1.Event{}, func(_ *testing.T, config *rest.Config) cache.ListerWatcher {
					return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Events(pods.namespace))
				})
				s.expectSettled(t, truthOf(func(ctx context.Context) ([]*corev1.Event, error) {
					list, err := client.List(ctx, metav1.ListOptions{})
					return pointers(list.Items), err
				})(t))
				s.expectStart(t, revision, old, "", "")
			})
			t.Run("a label that one object has", func(t *testing.T) {
				s := startInformer(t, c, streaming, &corev1.ConfigMap{}, configMaps.list)
				s.expectSettled(t, configMaps.truth(t))
				s.expectStart(t, revision, old, "", " "+rareLabel+"=true")
			})
			t.Run("a Role with resourceNames", func(t *testing.T) {
				byName := fields.OneTermEqualSelector(metav1.ObjectNameField, named.Name)
				s := startInformer(t, c, streaming, &corev1.ConfigMap{}, func(_ *testing.T, config *rest.Config) cache.ListerWatcher {
					config.Impersonate.UserName = readerOfOne
					return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(named.Namespace), cache.WithFieldSelector(byName))
				})
				s.expectSettled(t, truthOf(func(ctx context.Context) ([]*corev1.ConfigMap, error) {
					one, err := configMaps.author.get(ctx, 0)
					return []*corev1.ConfigMap{one.(*corev1.ConfigMap)}, err
				})(t))
				s.expectStart(t, revision, old, " "+byName.String(), " "+byName.String())
			})
		})
	}
}

// expectStart checks the requests of the start: a probe, a list not older than a version that is at
// least the revision, and a watch. The selectors are those of the probe and of the list. The watch
// cache of a release before 1.31 may lack that version, if only other resources have changed since;
// the informer then lists the most recent state.
func (s *subject) expectStart(t *testing.T, revision int64, old bool, probed, listed string) {
	t.Helper()
	await(t, "a watch is open", s.checkStartWatch)
	var got []string
	for _, text := range s.requests.texts() {
		if strings.HasPrefix(text, "list") {
			got = append(got, recentVersion(text, revision))
		}
	}
	want := []string{"list@ limit=1" + probed, "list@recent" + listed}
	late := []string{want[0], want[1] + " (status 504)", "list@ limit=500" + listed}
	switch {
	case slices.Equal(got, want):
	case old && slices.Equal(slices.Compact(slices.Clone(got)), late):
		t.Logf("the watch cache lacks the version: lists %q", got)
	default:
		t.Errorf("lists %q, want %q", got, want)
	}
}

// checkStartWatch returns an error if no watch is open.
func (s *subject) checkStartWatch(context.Context) error {
	if len(s.requests.openWatches()) == 0 {
		return errors.New("no watch is open")
	}
	return nil
}

// recentVersion replaces the version of a request's text by "recent" if it is at least revision.
func recentVersion(text string, revision int64) string {
	at, _, _ := strings.Cut(strings.TrimPrefix(text, "list@"), " ")
	if parseVersion(at) < revision {
		return text
	}
	return strings.Replace(text, at, "recent", 1)
}

// newRareConfigMap returns the collection of the one ConfigMap, among number of them, that has the
// label rareLabel.
func newRareConfigMap(t *testing.T, c *cluster.Cluster, number int) *configMapCollection {
	t.Helper()
	configMaps := newConfigMapCollection(t, c, 10, number)
	configMaps.putAll(t)
	rare := configMaps.author.configMap(number / 2)
	client := configMaps.author.clientset.CoreV1().ConfigMaps("")
	patch := []byte(`{"metadata": {"labels": {"` + rareLabel + `": "true"}}}`)
	_, err := configMaps.author.clientset.CoreV1().ConfigMaps(rare.Namespace).Patch(t.Context(), rare.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selector := labels.Set{rareLabel: "true"}.AsSelector()
	configMaps.list = func(_ *testing.T, config *rest.Config) cache.ListerWatcher {
		return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(""), cache.WithLabelSelector(selector))
	}
	configMaps.truth = truthOf(func(ctx context.Context) ([]*corev1.ConfigMap, error) {
		list, err := client.List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
		return pointers(list.Items), err
	})
	return configMaps
}

// putEvents creates Events directly in etcd.
func putEvents(t *testing.T, c *cluster.Cluster, ns string, number int) {
	t.Helper()
	for i := range number {
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("event-", i), UID: uuid.NewUUID(), CreationTimestamp: metav1.Now()},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: fmt.Sprint("pod-", i)},
			Reason:         "Scheduled", Type: corev1.EventTypeNormal,
		}
		if err := c.Put(t.Context(), "events/"+keyOf(event), "v1", "Event", event); err != nil {
			t.Fatal(err)
		}
	}
}

const readerOfOne = "reader-of-one"

// allowNamed allows the user readerOfOne to list and watch one ConfigMap, and nothing else.
func allowNamed(t *testing.T, clientset kubernetes.Interface, ns, name string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: ns, Name: readerOfOne}
	create(t, clientset.RbacV1().Roles(ns).Create, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{name}},
	}})
	create(t, clientset.RbacV1().RoleBindings(ns).Create, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: readerOfOne},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: readerOfOne}},
	})
}
