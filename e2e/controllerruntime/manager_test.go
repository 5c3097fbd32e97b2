// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// managerOptions returns the options of a manager with kinformer's informers. A program changes
// only the line with NewInformer.
func managerOptions(options clientgo.Options) ctrl.Options {
	skip := true
	return ctrl.Options{
		Cache:      ctrlcache.Options{NewInformer: options.NewInformer},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	}
}

// TestManager runs a manager with a reconciler, an index and reads of all types on kinformer's
// informers: against the fake server and kube-apiserver, with default options, and streaming and
// packed.
func TestManager(t *testing.T) {
	for server, config := range map[string]func(*testing.T) *rest.Config{"fake": fakeServer, "kube-apiserver": realServer} {
		t.Run(server, func(t *testing.T) {
			config := config(t)
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			for name, options := range map[string]clientgo.Options{
				"default":              {},
				"streaming-and-packed": {Packed: true},
			} {
				t.Run(name, func(t *testing.T) {
					config := rest.CopyConfig(config)
					if options.Packed {
						cache.EnableStreaming(config)
					}
					testManager(t, config, name, options)
				})
			}
		})
	}
}

func testManager(t *testing.T, config *rest.Config, prefix string, options clientgo.Options) {
	manager, err := ctrl.NewManager(config, managerOptions(options))
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, "data.of", func(obj client.Object) []string {
		return []string{obj.(*corev1.ConfigMap).Data["of"]}
	}); err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(manager).Named(prefix).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		Complete(&secretReconciler{manager.GetClient(), prefix}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Start returned %v", err)
		}
	}()
	testReconcile(t, manager.GetClient(), prefix)
}

// secretReconciler maintains a Secret for each ConfigMap labelled with its prefix.
type secretReconciler struct {
	client.Client
	prefix string
}

// Reconcile creates or updates the Secret of a ConfigMap.
func (c *secretReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var source corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Labels["test"] != c.prefix {
		return ctrl.Result{}, nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
	err := c.Get(ctx, request.NamespacedName, secret)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err == nil && string(secret.Data["of"]) == source.Data["of"] {
		return ctrl.Result{}, nil
	}
	secret.Data = map[string][]byte{"of": []byte(source.Data["of"])}
	if err != nil {
		if err := ctrl.SetControllerReference(&source, secret, c.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, c.Create(ctx, secret)
	}
	return ctrl.Result{}, c.Update(ctx, secret)
}

// testReconcile changes ConfigMaps and waits until the Secrets are reconciled. It also reads the
// other types of objects.
func testReconcile(t *testing.T, c client.Client, prefix string) {
	t.Helper()
	const count = 10
	for i := range count {
		source := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", prefix, i), Labels: map[string]string{"test": prefix}},
			Data:       map[string]string{"of": fmt.Sprint("first ", i%2)},
		}
		if err := c.Create(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	awaitSecrets(t, c, prefix, count, "first 1", count/2)
	var list corev1.ConfigMapList
	err := c.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingFields{"data.of": "first 1"}, client.MatchingLabels{"test": prefix})
	if err != nil || len(list.Items) != count/2 {
		t.Errorf("the index finds %d ConfigMaps, %v", len(list.Items), err)
	}
	for i := range list.Items {
		list.Items[i].Data["of"] = "second"
		if err := c.Update(t.Context(), &list.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
	awaitSecrets(t, c, prefix, count, "second", count/2)
	first := client.ObjectKey{Namespace: namespace, Name: prefix + "-0"}
	if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name}}); err != nil {
		t.Fatal(err)
	}
	awaitSecrets(t, c, prefix, count, "first 0", count/2) // recreated, because its owner exists
	getOtherTypes(t, c, first)
}

// awaitSecrets waits until there are count Secrets with a prefix, some of which have the content
// what.
func awaitSecrets(t *testing.T, c client.Client, prefix string, count int, what string, some int) {
	t.Helper()
	deadline := time.After(timeout)
	for {
		var secrets corev1.SecretList
		if err := c.List(t.Context(), &secrets, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		all, matching := 0, 0
		for i := range secrets.Items {
			if len(secrets.Items[i].Name) > len(prefix) && secrets.Items[i].Name[:len(prefix)] == prefix {
				all++
				if string(secrets.Items[i].Data["of"]) == what {
					matching++
				}
			}
		}
		if all == count && matching == some {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d Secrets, %d of which contain %q; want %d and %d", all, matching, what, count, some)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// getOtherTypes reads an object as metadata and as unstructured object, which have separate caches.
func getOtherTypes(t *testing.T, c client.Client, key client.ObjectKey) {
	t.Helper()
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	for _, obj := range []client.Object{metadata, object} {
		if err := c.Get(t.Context(), key, obj); err != nil || obj.GetName() != key.Name || obj.GetObjectKind().GroupVersionKind() != gvk {
			t.Errorf("as %T: %v, %v", obj, obj, err)
		}
		none := obj.DeepCopyObject().(client.Object)
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "none"}, none); !apierrors.IsNotFound(err) {
			t.Errorf("Get of a missing object, as %T: %v, want NotFound", obj, err)
		}
	}
}
