// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import "strings"

// variables are the parameters of the function that has a fragment's statements.
const variables = `
	ctx context.Context, namespace string, stop chan struct{}, mux *http.ServeMux, registry *prometheus.Registry,
	config *rest.Config, client, leaseClient kubernetes.Interface, dynamicClient dynamic.Interface, metadataClient clientmetadata.Interface,
	certClient certversioned.Interface, f struct{ client certversioned.Interface },
	newFunc func(certversioned.Interface, time.Duration) clientcache.SharedIndexInformer, resyncPeriod time.Duration,
	lw clientcache.ListerWatcher, store clientcache.Store,
	informer clientcache.SharedIndexInformer, handle clientcache.ResourceEventHandlerRegistration,
	pods *kinformercache.SharedInformer[*corev1.Pod], registration *kinformercache.Registration, factory *kinformercache.Factory,
	follower *follow.Follower, discoveryClient discovery.DiscoveryInterface, gvr schema.GroupVersionResource,
	t *testing.T, run func(context.Context, kubernetes.Interface) error, website, scaledUp fake.Object, addControllers func(ctrl.Manager) error,
	written, pod, old *corev1.Pod, key string, queue workqueue.TypedRateLimitingInterface[string],
	test simulate.Test, options ctrl.Options, httpClient *http.Client,
	service interface { http.Handler; state() any }, newStorage func() interface { http.Handler; state() any },
`

// packages are the imports that a fragment may leave out, by their names. Before a program changes,
// cache is client-go's.
func packages(before bool) map[string]string {
	const kinformer = "github.com/kinformer/kinformer/"
	names := map[string]string{
		"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "slices": "slices", "testing": "testing", "time": "time",
		"corev1":         "k8s.io/api/core/v1",
		"metav1":         "k8s.io/apimachinery/pkg/apis/meta/v1",
		"labels":         "k8s.io/apimachinery/pkg/labels",
		"kubernetes":     "k8s.io/client-go/kubernetes",
		"dynamic":        "k8s.io/client-go/dynamic",
		"clientmetadata": "k8s.io/client-go/metadata",
		"rest":           "k8s.io/client-go/rest",
		"clientcache":    "k8s.io/client-go/tools/cache",
		"workqueue":      "k8s.io/client-go/util/workqueue",
		"prometheus":     "github.com/prometheus/client_golang/prometheus",
		"ctrl":           "sigs.k8s.io/controller-runtime",
		"ctrlcache":      "sigs.k8s.io/controller-runtime/pkg/cache",
		"certversioned":  "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned",
		"kinformercache": kinformer + "cache", "cache": kinformer + "cache",
		"clientgo": kinformer + "clientgo", "debug": kinformer + "debug", "metrics": kinformer + "metrics",
		"fake": kinformer + "fake", "simulate": kinformer + "simulate", "simulatecr": kinformer + "simulate/simulatecr",
		"shard": kinformer + "shard", "follow": kinformer + "follow",
		"schema": "k8s.io/apimachinery/pkg/runtime/schema", "discovery": "k8s.io/client-go/discovery",
		"unstructured": "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured",
		"controller":   "example.com/controller", "ginkgo": "github.com/onsi/ginkgo/v2",
	}
	if before {
		names["cache"] = names["clientcache"]
	}
	return names
}

// declarations are the declarations that the documents use of packages that this module does not
// require: knative's, Ginkgo's, and a program's own.
func declarations() map[string]string {
	return map[string]string{
		"knative.dev/pkg/client/injection/kube/informers/core/v1/pod": `package pod`,
		"knative.dev/pkg/client/injection/kube/informers/factory":     `package factory; type Key struct{}`,
		"knative.dev/pkg/client/injection/kube/client": `package client
			import ("context"; "k8s.io/client-go/kubernetes")
			func Get(context.Context) kubernetes.Interface { return nil }`,
		"knative.dev/pkg/controller": `package controller
			import ("context"; "time")
			func GetResyncPeriod(context.Context) time.Duration { return 0 }`,
		"knative.dev/pkg/injection": `package injection
			import "context"
			func GetNamespaceScope(context.Context) string { return "" }
			var Default interface { RegisterInformerFactory(func(context.Context) context.Context) }`,
		"github.com/onsi/ginkgo/v2": `package ginkgo
			type testing interface { Helper(); Name() string; Logf(string, ...any); Errorf(string, ...any); Fatalf(string, ...any); FailNow() }
			func GinkgoT(...int) testing { return nil }`,
		"example.com/controller": `package controller
			import ("context"; "k8s.io/client-go/kubernetes")
			func Run(context.Context, kubernetes.Interface) error { return nil }`,
		"example.com/widgets/api/v1": `package v1
			import (metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; "k8s.io/apimachinery/pkg/runtime"; "k8s.io/apimachinery/pkg/runtime/schema")
			var GroupVersion schema.GroupVersion
			func AddToScheme(*runtime.Scheme) error { return nil }
			type Widget struct { metav1.TypeMeta; metav1.ObjectMeta; Status struct { Ready bool } }
			func (w *Widget) DeepCopy() *Widget { return w }
			func (w *Widget) DeepCopyObject() runtime.Object { return w }`,
	}
}

// importName returns the name of the package that a line imports.
func importName(line string) string {
	name, path, _ := strings.Cut(strings.TrimPrefix(line, "import "), `"`)
	if name = strings.TrimSpace(name); name != "" {
		return name
	}
	path, _, _ = strings.Cut(path, `"`)
	return path[strings.LastIndex(path, "/")+1:]
}
