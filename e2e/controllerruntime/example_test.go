// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/shard"
)

// The option NewInformer replaces the informers of a manager's cache. They stream because
// EnableStreaming has prepared the config.
func Example_manager() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	_ = server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}})
	config := server.Config()
	cache.EnableStreaming(config)

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	manager.GetCache().WaitForCacheSync(ctx)

	var pod corev1.Pod
	err = manager.GetClient().Get(ctx, client.ObjectKey{Namespace: "default", Name: "web-0"}, &pod)
	fmt.Println(pod.Name, err)
	cancel()
	fmt.Println(<-stopped)
	// Output:
	// web-0 <nil>
	// <nil>
}

// The informers of a manager's cache hold the objects of some namespaces, which may change while
// the manager runs. Nodes have no namespace.
func Example_namespaces() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	_ = server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	for _, namespace := range []string{"blue", "green", "red"} {
		_ = server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0"}})
	}
	namespaces := cache.NewScopes(cache.Scope{Namespace: "blue"}, cache.Scope{Namespace: "green"})
	scopes := func(example runtime.Object) *cache.Scopes {
		switch example.(type) {
		case *corev1.Node, *corev1.Namespace:
			return nil
		}
		return namespaces
	}
	manager, err := ctrl.NewManager(server.Config(), ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: clientgo.Options{Scopes: scopes}.NewInformer},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	manager.GetCache().WaitForCacheSync(ctx)

	var pods corev1.PodList
	var nodes corev1.NodeList
	fmt.Println(manager.GetClient().List(ctx, &pods), len(pods.Items))
	fmt.Println(manager.GetClient().List(ctx, &nodes), len(nodes.Items))
	var pod corev1.Pod
	err = manager.GetClient().Get(ctx, client.ObjectKey{Namespace: "red", Name: "web-0"}, &pod)
	fmt.Println(errors.Is(err, cache.ErrNoScope), apierrors.IsNotFound(err)) // it may exist
	if err := namespaces.Add(cache.Scope{Namespace: "red"}); err != nil {
		panic(err)
	}
	for len(pods.Items) < 3 {
		_ = manager.GetClient().List(ctx, &pods)
	}
	cancel()
	fmt.Println(<-stopped)
	// Output:
	// <nil> 2
	// <nil> 1
	// true false
	// <nil>
}

// Two managers share the ConfigMaps: the cache of each holds those of the slots that its member
// owns, and its Reconcile writes with the context of the slot. Leader election is off, as both
// managers work.
func Example_shards() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{ShardedListAndWatch: true})
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	for n := range 20 {
		_ = server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprint("item-", n)}})
	}
	ctx, cancel := context.WithCancel(context.Background())
	written, stopped := make(chan string, 100), make(chan error, 2)
	for _, identity := range []string{"blue", "green"} {
		manager, err := newShardedManager(server.Config(), identity, written)
		if err != nil {
			panic(err)
		}
		go func() { stopped <- manager.Start(ctx) }()
	}
	names, owners := make(map[string]bool), make(map[string]bool)
	for len(names) < 20 || len(owners) < 2 {
		owner, name, _ := strings.Cut(<-written, " ")
		owners[owner], names[name] = true, true
	}
	fmt.Println(len(names), "ConfigMaps,", len(owners), "owners")
	cancel()
	fmt.Println(<-stopped, <-stopped)
	// Output:
	// 20 ConfigMaps, 2 owners
	// <nil> <nil>
}

// newShardedManager returns a manager that annotates the ConfigMaps of the slots of one member.
func newShardedManager(config *rest.Config, identity string, written chan<- string) (ctrl.Manager, error) {
	leases, err := kubernetes.NewForConfig(config) // with a limit on requests of its own
	if err != nil {
		return nil, err
	}
	member, err := shard.New(leases.CoordinationV1().Leases("web"), shard.Options{
		Group: "web", Identity: identity, Slots: 4, LeaseDuration: time.Second, // short, for this example
	})
	if err != nil {
		return nil, err
	}
	scopes := func(example runtime.Object) *cache.Scopes {
		if _, ok := example.(*corev1.ConfigMap); ok {
			return member.Scopes()
		}
		return nil
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: clientgo.Options{Scopes: scopes}.NewInformer},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	if err := manager.Add(ctrlmanager.RunnableFunc(member.Run)); err != nil {
		return nil, err
	}
	return manager, ctrl.NewControllerManagedBy(manager).Named(identity).For(&corev1.ConfigMap{}).
		Complete(&shardReconciler{manager.GetClient(), member, written})
}

// shardReconciler writes the owner of a ConfigMap's slot into an annotation.
type shardReconciler struct {
	client  client.Client
	member  *shard.Member
	written chan<- string // receives the owner and the name
}

// Reconcile implements reconcile.Reconciler. It tries a ConfigMap of another replica again, until
// the cache has dropped the ConfigMap, as the slot may be this replica's again before.
func (r *shardReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var configMap corev1.ConfigMap
	if err := r.client.Get(ctx, request.NamespacedName, &configMap); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	slot, ok := r.member.Slot(&configMap)
	if !ok {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if configMap.Annotations["owner"] == slot.Incarnation {
		return ctrl.Result{}, nil
	}
	ctx, cancel := slot.Context(ctx)
	defer cancel()
	before := configMap.DeepCopy()
	metav1.SetMetaDataAnnotation(&configMap.ObjectMeta, "owner", slot.Incarnation)
	// Without the optimistic lock, the patch would not carry the resourceVersion.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, &configMap, patch); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner, _, _ := strings.Cut(slot.Incarnation, "_")
	r.written <- owner + " " + configMap.Name
	return ctrl.Result{}, nil
}
