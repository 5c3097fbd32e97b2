// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/metrics"
)

// configMapName is the name of the ConfigMap that the controller writes in each Namespace.
const configMapName = "pod-count"

func main() {
	simulate := flag.Bool("simulate", true, "start an API server instead of using -kubeconfig")
	address := flag.String("address", "127.0.0.1:8080", "address of /metrics and /debug/informers/")
	flag.Parse() // controller-runtime adds -kubeconfig
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *simulate, *address); err != nil {
		fmt.Fprintln(os.Stderr, "controllerruntime:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, simulate bool, address string) error {
	config, stopServer, err := restConfig(simulate)
	if err != nil {
		return err
	}
	defer stopServer()
	manager, err := newManager(config, address)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// newManager returns a manager with the controller.
func newManager(config *rest.Config, address string) (ctrl.Manager, error) {
	cache.EnableStreaming(config) // lists are read as they arrive
	var informers cache.Group
	if err := ctrlmetrics.Registry.Register(metrics.NewCollector(&informers)); err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache: ctrlcache.Options{
			ByObject:    ownConfigMaps(),
			NewInformer: clientgo.Options{Packed: true, Group: &informers}.NewInformer, // instead of client-go's
		},
		Metrics: server.Options{
			BindAddress:   address,
			ExtraHandlers: map[string]http.Handler{"/debug/informers/": debug.Handler(debug.Options{}, &informers)},
		},
	})
	if err != nil {
		return nil, err
	}
	return manager, setUp(manager)
}

// ownConfigMaps selects the objects of the cache that are ConfigMaps.
func ownConfigMaps() map[client.Object]ctrlcache.ByObject {
	return map[client.Object]ctrlcache.ByObject{&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.name", configMapName)}}
}

// setUp adds the controller to a manager.
func setUp(manager ctrl.Manager) error {
	ofNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: configMapName}}}
	})
	return ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}).
		Watches(&corev1.Pod{}, ofNamespace).
		Complete(&controller{manager.GetClient()})
}

// controller keeps a ConfigMap with the number of Pods in each Namespace.
type controller struct{ client client.Client }

// Reconcile implements reconcile.Reconciler.
func (c *controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	count := strconv.Itoa(len(pods.Items))
	configMap := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, c.client, &configMap, func() error {
		configMap.Data = map[string]string{"pods": count}
		return nil
	})
	switch {
	case apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcile.Result{}, nil // the Namespace is being deleted
	case err != nil:
		return reconcile.Result{}, err
	}
	if result != controllerutil.OperationResultNone {
		klog.FromContext(ctx).Info("Counted Pods", "pods", count)
	}
	return reconcile.Result{}, nil
}

// restConfig returns the configuration of clients, and a function that stops the API server if it
// is the program's own.
func restConfig(simulate bool) (*rest.Config, func(), error) {
	if !simulate {
		config, err := config.GetConfig()
		return config, func() {}, err
	}
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, namespace := range []string{"mail", "search", "shop"} {
		_ = server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		for n := range len(namespace) {
			_ = server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("web-", n)}})
		}
	}
	return server.Config(), func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(closing)
	}, nil
}
