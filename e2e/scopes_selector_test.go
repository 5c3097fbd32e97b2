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

// TestScopesOfNames runs an informer over some names of a namespace, one of which is added and
// removed while ConfigMaps of all names are written, deleted and recreated.
func TestScopesOfNames(t *testing.T) {
	t.Parallel()
	configMaps := newConfigMapCollection(t, shared(t), 1, 20)
	configMaps.fill(t)
	ns := configMaps.author.namespaces[0]
	named := func(number int) cache.Scope {
		return cache.Scope{Namespace: ns, FieldSelector: fmt.Sprint("metadata.name=", configMapPrefix, number)}
	}
	held := func(numbers ...int) map[string]state {
		all := configMaps.truth(t)
		maps.DeleteFunc(all, func(key string, _ state) bool {
			return !slices.ContainsFunc(numbers, func(number int) bool { return key == fmt.Sprint(ns, "/", configMapPrefix, number) })
		})
		return all
	}
	scopes := cache.NewScopes(named(0), named(1))
	s := startScoped(t, "names", shared(t), &corev1.ConfigMap{}, configMapsByNamespace, scopes)
	configMaps.write(t, 300)
	s.expectObjects(t, held(0, 1))

	if err := scopes.Add(cache.Scope{Namespace: ns}); err == nil || len(scopes.All()) != 2 {
		t.Errorf("a namespace was added to names in it: %v", scopes.All())
	}
	if err := scopes.Add(named(2)); err != nil {
		t.Fatal(err)
	}
	await(t, "a third name", func(ctx context.Context) error { return s.synced(ctx, named(2)) })
	configMaps.write(t, 300)
	s.expectObjects(t, held(0, 1, 2))

	s.scopes.allow("keep two", func(key string, _ types.UID) bool { return strings.HasSuffix(key, "/"+configMapPrefix+"0") })
	left := len(held(0)) // none if it is deleted now
	if err := scopes.Set(named(1), named(2)); err != nil {
		t.Fatal(err)
	}
	configMaps.write(t, 300)
	s.expectObjects(t, held(1, 2))
	isSecond := func(key string, _ types.UID) bool { return strings.HasSuffix(key, "/"+configMapPrefix+"1") }
	s.expectHistory(t, configMaps.ledger, isSecond, func(_, _ types.UID) bool { return false })
	if s.scopes.departures != left {
		t.Errorf("%d ConfigMaps have left their scope, want %d", s.scopes.departures, left)
	}
}
