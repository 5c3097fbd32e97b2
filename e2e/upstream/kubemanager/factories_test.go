// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
)

// TestFlagSelectsInformers checks that the flag selects the package of every informer that the
// programs use, however it is created: by accessors, by a function, by resource, or for metadata.
// Otherwise the other tests would be meaningless.
func TestFlagSelectsInformers(t *testing.T) {
	for _, informers := range informerKinds() {
		t.Run(informers, func(t *testing.T) {
			o := &options{informers: informers, streaming: true}
			f, err := o.factories(&rest.Config{Host: "127.0.0.1"})
			if err != nil {
				t.Fatal(err)
			}
			for _, informer := range allInformers(t, f) {
				expectPackage(t, informer, informers != informersClientGo)
			}
		})
	}
}

func allInformers(t *testing.T, f *factories) []clientcache.SharedIndexInformer {
	t.Helper()
	manager, scheduler := f.typed(trim), f.typed(nil)
	createPodInformer(scheduler)
	all := []clientcache.SharedIndexInformer{
		scheduler.Core().V1().Pods().Informer(),
		scheduler.Core().V1().Nodes().Informer(),
		scheduler.Core().V1().PersistentVolumeClaims().Informer(),
		scheduler.Storage().V1().CSINodes().Informer(),
		scheduler.Resource().V1().ResourceClaims().Informer(),
		manager.Core().V1().Pods().Informer(),
		manager.Core().V1().Services().Informer(),
		manager.Apps().V1().ReplicaSets().Informer(),
		manager.Apps().V1().Deployments().Informer(),
		manager.Batch().V1().Jobs().Informer(),
		manager.Discovery().V1().EndpointSlices().Informer(),
		f.metadata(trim).ForResource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}).Informer(),
		f.dynamic().ForResource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}).Informer(),
	}
	for _, resource := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("configmaps"),
		appsv1.SchemeGroupVersion.WithResource("daemonsets"),
		batchv1.SchemeGroupVersion.WithResource("cronjobs"),
		discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		resourcev1.SchemeGroupVersion.WithResource("resourceslices"),
		storagev1.SchemeGroupVersion.WithResource("storageclasses"),
	} {
		generic, err := manager.ForResource(resource)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, generic.Informer())
	}
	return all
}

// TestOneInformerPerResource checks that a factory returns the same informer by resource and by
// accessor: the garbage collector shares the controllers' informers.
func TestOneInformerPerResource(t *testing.T) {
	for _, informers := range informerKinds() {
		o := &options{informers: informers, streaming: true}
		f, err := o.factories(&rest.Config{Host: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		factory := f.typed(trim)
		generic, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
		if err != nil {
			t.Fatal(err)
		}
		if generic.Informer() != factory.Core().V1().Pods().Informer() {
			t.Errorf("%s: two informers of Pods", informers)
		}
	}
}

func expectPackage(t *testing.T, informer clientcache.SharedIndexInformer, kinformer bool) {
	t.Helper()
	path := reflect.TypeOf(informer).Elem().PkgPath()
	if strings.Contains(path, "kinformer") != kinformer {
		t.Errorf("the informer is a %T of %s", informer, path)
	}
}
