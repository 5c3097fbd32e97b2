// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientfake "k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/utils/ptr"

	"github.com/kinformer/kinformer/fake"
)

// endpointSlices is an EndpointSlice controller on kinformer's informers.
type endpointSlices struct {
	t        *testing.T
	services *fake.ListerWatcher[*corev1.Service]
	pods     *fake.ListerWatcher[*corev1.Pod]
	slices   *fake.ListerWatcher[*discoveryv1.EndpointSlice]

	servicesGate, podsGate, slicesGate *gate
	stop                               func()

	created int // number of Pods so far, for their names and addresses
}

type serviceInformer struct{ subject }

func (i serviceInformer) Informer() clientcache.SharedIndexInformer { return i.subject }
func (i serviceInformer) Lister() corelisters.ServiceLister {
	return corelisters.NewServiceLister(i.GetIndexer())
}

type nodeInformer struct{ subject }

func (i nodeInformer) Informer() clientcache.SharedIndexInformer { return i.subject }
func (i nodeInformer) Lister() corelisters.NodeLister {
	return corelisters.NewNodeLister(i.GetIndexer())
}

type sliceInformer struct{ subject }

func (i sliceInformer) Informer() clientcache.SharedIndexInformer { return i.subject }
func (i sliceInformer) Lister() discoverylisters.EndpointSliceLister {
	return discoverylisters.NewEndpointSliceLister(i.GetIndexer())
}

func startEndpointSlices(t *testing.T, services, others delivery) *endpointSlices {
	t.Helper()
	s := &endpointSlices{
		t:        t,
		services: fake.NewListerWatcher(&corev1.Service{}),
		pods:     fake.NewListerWatcher(&corev1.Pod{}),
		slices:   fake.NewListerWatcher(&discoveryv1.EndpointSlice{}),
		podsGate: newGate(), servicesGate: newGate(), slicesGate: newGate(),
	}
	createBackground(s.services, func() *corev1.Service { return &corev1.Service{} })
	createBackground(s.pods, func() *corev1.Pod { return &corev1.Pod{} })
	createBackground(s.slices, func() *discoveryv1.EndpointSlice { return &discoveryv1.EndpointSlice{} })
	nodes := fake.NewListerWatcher(&corev1.Node{})
	nodes.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})

	ctx, cancel := context.WithCancel(t.Context())
	informers := []subject{
		newSubject(s.pods, &corev1.Pod{}, others, s.podsGate),
		newSubject(s.services, &corev1.Service{}, services, s.servicesGate),
		newSubject(nodes, &corev1.Node{}, delivery{every: true, adapter: others.adapter}, newGate()),
		newSubject(s.slices, &discoveryv1.EndpointSlice{}, others, s.slicesGate),
	}
	const endpointsPerSlice = 2
	controller := endpointslice.NewController(ctx,
		podInformer{informers[0]}, serviceInformer{informers[1]}, nodeInformer{informers[2]}, sliceInformer{informers[3]},
		endpointsPerSlice, s.client(), 0)
	var stopped []<-chan struct{}
	for _, informer := range informers {
		stopped = append(stopped, informer.start(ctx, t))
	}
	stopped = append(stopped, runAsync(func() { controller.Run(ctx, 2) })) // last: it calls HasSynced of the informers immediately
	s.stop = stopFunc(cancel, stopped)
	advance(time.Second)
	return s
}

// client returns the controller's client, which writes to the fake collections.
func (s *endpointSlices) client() *clientfake.Clientset {
	client := clientfake.NewSimpleClientset()
	client.PrependReactor("create", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		slice := action.(clienttesting.CreateAction).GetObject().DeepCopyObject().(*discoveryv1.EndpointSlice)
		slice.Namespace, slice.Generation = action.GetNamespace(), 1
		return true, s.slices.Create(slice), nil
	})
	client.PrependReactor("update", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		slice := action.(clienttesting.UpdateAction).GetObject().DeepCopyObject().(*discoveryv1.EndpointSlice)
		if _, ok := s.slices.Get(key(slice)); !ok {
			return true, nil, fmt.Errorf("EndpointSlice %s does not exist", key(slice))
		}
		slice.Generation++
		return true, s.slices.Update(slice), nil
	})
	client.PrependReactor("delete", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		s.slices.Delete(namespace + "/" + action.(clienttesting.DeleteAction).GetName())
		return true, nil, nil
	})
	return client
}

// release opens all gates.
func (s *endpointSlices) release() {
	s.servicesGate.release()
	s.podsGate.release()
	s.slicesGate.release()
}

// serve creates a Service and a number of Pods for it.
func (s *endpointSlices) serve(service string, pods int) {
	s.services.Create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service},
		Spec: corev1.ServiceSpec{
			Selector:   map[string]string{"app": service},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports:      []corev1.ServicePort{{Port: 80}},
		},
	})
	for range pods {
		s.runPod(service)
	}
}

// update changes a Service.
func (s *endpointSlices) update(service string, change func(*corev1.Service)) {
	current, _ := s.services.Get(namespace + "/" + service)
	change(current)
	s.services.Update(current)
}

func (s *endpointSlices) remove(service string) { s.services.Delete(namespace + "/" + service) }

// runPod creates a ready Pod of an app.
func (s *endpointSlices) runPod(app string) {
	s.created++
	pod := s.pods.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", app, s.created), Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: "node"},
	})
	pod.Status = corev1.PodStatus{
		Phase:  corev1.PodRunning,
		PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.0.0.%d", s.created)}},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		},
	}
	pod.Status.PodIP = pod.Status.PodIPs[0].IP
	s.pods.Update(pod)
}

// scaleDown deletes all Pods of an app except a number of them, with grace period.
func (s *endpointSlices) scaleDown(app string, left int) {
	for _, pod := range s.podsOf(labels.SelectorFromSet(labels.Set{"app": app}))[left:] {
		pod.DeletionTimestamp = ptr.To(metav1.Now())
		s.pods.Update(pod)
		s.pods.Delete(key(pod))
	}
}

func (s *endpointSlices) removeSlices(service string) {
	for _, slice := range s.existingSlices(service) {
		s.slices.Delete(key(slice))
	}
}

// terminateSlices deletes a Service's slices, which remain because of a finalizer.
func (s *endpointSlices) terminateSlices(service string) {
	for _, slice := range s.existingSlices(service) {
		slice.DeletionTimestamp, slice.Finalizers = ptr.To(metav1.Now()), []string{"example.com/wait"}
		slice.Generation++
		s.slices.Update(slice)
	}
}

func (s *endpointSlices) podsOf(selector labels.Selector) []*corev1.Pod {
	return listNamespace[*corev1.Pod](s.t, s.pods, selector)
}

func (s *endpointSlices) slicesOf(service string) []*discoveryv1.EndpointSlice {
	return listNamespace[*discoveryv1.EndpointSlice](s.t, s.slices, labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}))
}

// existingSlices returns a Service's slices. It is an error if there are none.
func (s *endpointSlices) existingSlices(service string) []*discoveryv1.EndpointSlice {
	existing := s.slicesOf(service)
	if len(existing) == 0 {
		s.t.Errorf("%s has no EndpointSlices", service)
	}
	return existing
}

// difference describes how a Service's slices differ from the addresses of its Pods. It returns ""
// if they are equal.
func (s *endpointSlices) difference(service *corev1.Service) string {
	var want, got []string
	for _, pod := range s.podsOf(labels.SelectorFromSet(service.Spec.Selector)) {
		want = append(want, pod.Status.PodIP)
	}
	for _, slice := range s.slicesOf(service.Name) {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, false) {
				got = append(got, endpoint.Addresses...)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("the EndpointSlices of %s have %v, want %v", service.Name, got, want)
}

// expectCorrect checks that the slices of every Service are correct after some time.
func (s *endpointSlices) expectCorrect(after time.Duration) {
	s.t.Helper()
	advance(after)
	for _, service := range listNamespace[*corev1.Service](s.t, s.services, labels.Everything()) {
		if difference := s.difference(service); service.Namespace == namespace && difference != "" {
			s.t.Error(difference)
		}
	}
}

// expectStale checks that the slices of a Service are still incorrect after some time.
func (s *endpointSlices) expectStale(service string, after time.Duration) {
	s.t.Helper()
	advance(after)
	current, _ := s.services.Get(namespace + "/" + service)
	if s.difference(current) == "" {
		s.t.Error("the EndpointSlices are correct although an Add and its Delete were dropped: the test does not detect it")
	}
}
