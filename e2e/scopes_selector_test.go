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
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
)

// TestScopesOfNamespaces runs an informer over two namespaces as a user who may list and watch
// these alone. A third namespace is an error of its scope, until it is permitted.
func TestScopesOfNamespaces(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{RBAC: true})
	configMaps := newConfigMapCollection(t, c, 3, 30)
	configMaps.fill(t)
	names := configMaps.author.namespaces
	clientset := configMaps.author.clientset
	for _, ns := range names[:2] {
		allowConfigMaps(t, clientset, ns)
	}
	scopes := cache.NewScopes(cache.Scope{Namespace: names[0]}, cache.Scope{Namespace: names[1]})
	s := startScoped(t, "two namespaces", c, &corev1.ConfigMap{}, configMapsByNamespace, scopes, asReader)
	configMaps.write(t, 200)
	held := func(names ...string) map[string]state {
		all := configMaps.truth(t)
		maps.DeleteFunc(all, func(key string, _ state) bool {
			ns, _, _ := strings.Cut(key, "/")
			return !slices.Contains(names, ns)
		})
		return all
	}
	s.expectObjects(t, held(names[:2]...))

	third := cache.Scope{Namespace: names[2]}
	if err := scopes.Add(third); err != nil {
		t.Fatal(err)
	}
	await(t, "the third namespace is forbidden", func(context.Context) error {
		if now := s.status(); len(now) != 3 || !apierrors.IsForbidden(now[2].Err) || now[0].Err != nil || now[1].Err != nil {
			return fmt.Errorf("%w: %+v", errNotAtRest, now)
		}
		return nil
	})
	configMaps.write(t, 200)
	s.expectObjects(t, held(names[:2]...))
	allowConfigMaps(t, clientset, names[2])
	await(t, "the third namespace", func(ctx context.Context) error { return s.synced(ctx, third) })
	configMaps.write(t, 200)
	s.expectObjects(t, held(names...))

	path := func(ns string) string { return "/api/v1/namespaces/" + ns + "/configmaps" }
	want := map[string]bool{path(names[0]): true, path(names[1]): true, path(names[2]): true}
	if got := s.requests.paths(); !maps.Equal(got, want) {
		t.Errorf("the requests have the paths %v, want %v", got, want)
	}
}

func configMapsByNamespace(t *testing.T, config *rest.Config) cache.ListerWatcher {
	t.Helper()
	return cache.ListWatchByNamespace(kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps, onlyCollection)
}

// asReader makes a client send its requests as the user of allowConfigMaps.
func asReader(config *rest.Config) { config.Impersonate.UserName = "reader" }

// allowConfigMaps allows the user "reader" to list and watch the ConfigMaps of a namespace.
func allowConfigMaps(t *testing.T, clientset kubernetes.Interface, ns string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "reader", Namespace: ns}
	create(t, clientset.RbacV1().Roles(ns).Create, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	}})
	create(t, clientset.RbacV1().RoleBindings(ns).Create, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	})
}

// onlyCollection leaves out ConfigMaps that a cluster creates in each namespace.
func onlyCollection(options *metav1.ListOptions) { options.LabelSelector = collectionLabel }

// relabelAuthor writes ConfigMaps whose label alternates between two values.
type relabelAuthor struct{ configMapAuthor }

const environmentLabel = "env"

func (a relabelAuthor) create(ctx context.Context, number int) (metav1.Object, error) {
	obj := a.configMap(number)
	obj.Labels[environmentLabel] = "dev"
	return a.clientset.CoreV1().ConfigMaps(obj.Namespace).Create(ctx, obj, metav1.CreateOptions{})
}

func (a relabelAuthor) change(ctx context.Context, obj metav1.Object, _ int) (metav1.Object, error) {
	to := map[string]string{"dev": "prod", "prod": "dev"}[obj.GetLabels()[environmentLabel]]
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q}}}`, environmentLabel, to)
	return a.clientset.CoreV1().ConfigMaps(obj.GetNamespace()).Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
}

// TestScopesOfLabels runs an informer over two values of a label, between which ConfigMaps are
// moved all the time: only those that are deleted are delivered as deleted. A deletion waits for
// the next event of the other scope.
func TestScopesOfLabels(t *testing.T) {
	t.Parallel()
	c := shared(t)
	clientset := clientsetFor(t, c)
	author := relabelAuthor{configMapAuthor{clientset, []string{namespace(t, clientset)}}}
	ns := author.namespaces[0]
	w := newWriter(author, 100)
	w.fill(t)
	scopes := cache.NewScopes(cache.Scope{LabelSelector: "env=dev"}, cache.Scope{LabelSelector: "env=prod"})
	s := startScoped(t, "two labels", c, &corev1.ConfigMap{}, func(t *testing.T, config *rest.Config) cache.ListerWatcher {
		t.Helper()
		return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(ns))
	}, scopes)
	w.focus(5)
	w.write(t, 2000)
	want := w.ledger.current()
	for _, environment := range []string{"dev", "prod"} { // the last event of each scope
		obj := author.configMap(0)
		obj.Name, obj.Labels[environmentLabel] = environment, environment
		create(t, clientset.CoreV1().ConfigMaps(ns).Create, obj)
		created, err := clientset.CoreV1().ConfigMaps(ns).Get(t.Context(), environment, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want[keyOf(created)] = stateOf(created)
	}
	s.expectObjects(t, want)
	expectSubsequence(t, s.recorder, w.ledger)
	if s.scopes.departures > 0 {
		t.Errorf("%d ConfigMaps have departed, want none", s.scopes.departures)
	}
}
