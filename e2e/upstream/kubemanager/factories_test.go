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

// The flag decides whose informers they are, of every type that the programs ask for and however they ask: by the accessors,
// by a function of their own, by the resource, as metadata. Else the tests here would show nothing.
func TestInformersAreThoseOfTheFlag(t *testing.T) {
	for _, informers := range informerKinds() {
		t.Run(informers, func(t *testing.T) {
			o := &options{informers: informers, streaming: true}
			f, err := o.factories(&rest.Config{Host: "127.0.0.1"})
			if err != nil {
				t.Fatal(err)
			}
			for _, informer := range informersOf(t, f) {
				expectWhose(t, informer, informers != informersClientGo)
			}
		})
	}
}

func informersOf(t *testing.T, f *factories) []clientcache.SharedIndexInformer {
	t.Helper()
	manager, scheduler := f.typed(trim), f.typed(nil)
	ofPods(scheduler)
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

// Whoever asks for the same objects gets the same informer, by whichever way: the garbage collector, which asks by resource,
// shares those of the controllers.
func TestOneInformerHoweverAsked(t *testing.T) {
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
			t.Errorf("%s: there are two informers of Pods", informers)
		}
	}
}

func expectWhose(t *testing.T, informer clientcache.SharedIndexInformer, ours bool) {
	t.Helper()
	path := reflect.TypeOf(informer).Elem().PkgPath()
	if strings.Contains(path, "kinformer") != ours {
		t.Errorf("the informer is a %T of %s", informer, path)
	}
}
