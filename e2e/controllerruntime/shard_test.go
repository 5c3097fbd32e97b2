// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/shard"
)

// TestManagersShareACollection runs two managers as docs/sharding.md says. An index makes each wait
// for its informer before it starts anything else.
func TestManagersShareACollection(t *testing.T) {
	config := fakeServer(t)
	config.QPS = -1
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
	const count = 40
	for n := range count {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("item-%02d", n)}}
		if _, err := configMaps.Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	first, second := startReplica(t, config, "first"), startReplica(t, config, "second")
	owners := func() map[string]int {
		list, err := configMaps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		owners := map[string]int{}
		for i := range list.Items {
			owners[list.Items[i].Annotations["owner"]]++
		}
		return owners
	}
	awaitOwners(t, owners, func(owners map[string]int) bool {
		return owners["first"] > 0 && owners["second"] > 0 && owners["first"]+owners["second"] == count &&
			first.cached() == owners["first"] && second.cached() == owners["second"]
	})

	first.stop()
	awaitOwners(t, owners, func(owners map[string]int) bool { return owners["second"] == count })
	second.stop()
}

func awaitOwners(t *testing.T, owners func() map[string]int, condition func(map[string]int) bool) {
	t.Helper()
	deadline := time.After(timeout)
	for {
		got := owners()
		if condition(got) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("the ConfigMaps have the owners %v", got)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// replica is a running manager.
type replica struct {
	stop   func()     // may be called again
	cached func() int // the number of ConfigMaps in the manager's cache
}

// startReplica starts a manager whose reconciler writes the replica's identity into the ConfigMaps
// of its slots.
func startReplica(t *testing.T, config *rest.Config, identity string) replica {
	t.Helper()
	leases := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases(namespace)
	member, err := shard.New(leases, shard.Options{Group: "test", Identity: identity, LeaseDuration: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	scopes := func(example runtime.Object) *cache.Scopes {
		if _, ok := example.(*corev1.ConfigMap); ok {
			return member.Scopes()
		}
		return nil
	}
	manager, err := ctrl.NewManager(config, managerOptions(clientgo.Options{Scopes: scopes}))
	if err != nil {
		t.Fatal(err)
	}
	byOwner := func(obj client.Object) []string { return []string{obj.GetAnnotations()["owner"]} }
	if err := manager.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, "owner", byOwner); err != nil {
		t.Fatal(err)
	}
	owner := &ownerReconciler{manager.GetClient(), manager.GetAPIReader(), member, identity}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(owner); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- cache.RunAll(ctx, member.Run, manager.Start)
		close(stopped)
	}()
	stop := func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return replica{stop, func() int {
		var list corev1.ConfigMapList
		if err := manager.GetClient().List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}}
}

type ownerReconciler struct {
	client.Client
	server   client.Reader
	member   *shard.Member
	identity string
}

func (r *ownerReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	configMap := &corev1.ConfigMap{}
	if err := r.Get(ctx, request.NamespacedName, configMap); errors.Is(err, cache.ErrNoScope) {
		return ctrl.Result{}, nil // another replica's
	} else if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	slot, ok := r.member.Slot(configMap)
	if !ok {
		return ctrl.Result{}, shard.ErrNotOwner
	}
	if configMap.Annotations["owner"] == r.identity {
		return ctrl.Result{}, nil
	}
	related := client.ObjectKey{Namespace: namespace, Name: "item-00"} // of one of the replicas
	err := r.Get(ctx, related, &corev1.ConfigMap{})
	if errors.Is(err, cache.ErrNoScope) {
		err = r.server.Get(ctx, related, &corev1.ConfigMap{})
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	writing, cancel := slot.Context(ctx)
	defer cancel()
	metav1.SetMetaDataAnnotation(&configMap.ObjectMeta, "owner", r.identity)
	err = r.Update(writing, configMap)
	if err != nil && errors.Is(context.Cause(writing), shard.ErrNotOwner) {
		return ctrl.Result{}, context.Cause(writing)
	}
	return ctrl.Result{}, err
}
