// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopters

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	networkingapi "istio.io/api/networking/v1alpha3"
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	"istio.io/client-go/pkg/apis/networking/v1alpha3"
	istioclient "istio.io/client-go/pkg/clientset/versioned"
	istioinformers "istio.io/client-go/pkg/informers/externalversions"
	"istio.io/client-go/pkg/informers/externalversions/networking"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

func istioResources() []fake.CustomResource {
	const group = "networking.istio.io"
	return []fake.CustomResource{
		{Group: group, Versions: []string{"v1"}, Kind: "VirtualService"},
		{Group: group, Versions: []string{"v1"}, Kind: "DestinationRule"},
		{Group: group, Versions: []string{"v1alpha3"}, Kind: "EnvoyFilter"},
	}
}

// createIstioObjects creates an object of each resource, with fields whose JSON is not that of Go:
// oneofs, durations, wrappers, enums and a Struct.
func createIstioObjects(t *testing.T, client istioclient.Interface, i int) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("web-%02d", i)}
	route := &networkingv1.VirtualService{ObjectMeta: meta, Spec: networkingapi.VirtualService{
		Hosts: []string{"web.example.com"}, Gateways: []string{"mesh"},
		Http: []*networkingapi.HTTPRoute{{
			Match:   []*networkingapi.HTTPMatchRequest{{Uri: &networkingapi.StringMatch{MatchType: &networkingapi.StringMatch_Prefix{Prefix: fmt.Sprintf("/%d", i)}}}},
			Route:   []*networkingapi.HTTPRouteDestination{{Destination: &networkingapi.Destination{Host: "web", Port: &networkingapi.PortSelector{Number: 80}}, Weight: 100}},
			Timeout: durationpb.New(1500 * time.Millisecond),
			Retries: &networkingapi.HTTPRetry{Attempts: 3, PerTryTimeout: durationpb.New(time.Second), RetryRemoteLocalities: wrapperspb.Bool(false)},
		}},
	}}
	if _, err := client.NetworkingV1().VirtualServices(namespace).Create(t.Context(), route, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	rule := &networkingv1.DestinationRule{ObjectMeta: meta, Spec: networkingapi.DestinationRule{
		Host: "web",
		TrafficPolicy: &networkingapi.TrafficPolicy{
			LoadBalancer:     &networkingapi.LoadBalancerSettings{LbPolicy: &networkingapi.LoadBalancerSettings_Simple{Simple: networkingapi.LoadBalancerSettings_LEAST_REQUEST}},
			OutlierDetection: &networkingapi.OutlierDetection{Consecutive_5XxErrors: wrapperspb.UInt32(uint32(i))},
		},
	}}
	if _, err := client.NetworkingV1().DestinationRules(namespace).Create(t.Context(), rule, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch, err := structpb.NewStruct(map[string]any{"name": "filter", "index": i, "nested": map[string]any{"list": []any{"a", true, nil, 1.5}}})
	if err != nil {
		t.Fatal(err)
	}
	filter := &v1alpha3.EnvoyFilter{ObjectMeta: meta, Spec: networkingapi.EnvoyFilter{
		ConfigPatches: []*networkingapi.EnvoyFilter_EnvoyConfigObjectPatch{{
			ApplyTo: networkingapi.EnvoyFilter_HTTP_FILTER,
			Patch:   &networkingapi.EnvoyFilter_Patch{Operation: networkingapi.EnvoyFilter_Patch_INSERT_BEFORE, Value: patch},
		}},
	}}
	if _, err := client.NetworkingV1alpha3().EnvoyFilters(namespace).Create(t.Context(), filter, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestGeneratedFactoryOfIstio checks that a factory of istio's clientset has this module's
// informers once they were asked for through Generated, and that they store what client-go's do.
// The objects are protobuf messages with a JSON encoding of their own. The clientset's list and
// watch functions take no context, so the informers do not stream.
func TestGeneratedFactoryOfIstio(t *testing.T) {
	eachVariant(t, func(t *testing.T, options clientgo.Options) {
		client := istioclient.NewForConfigOrDie(startServer(t, istioResources()...))
		for i := range 20 {
			createIstioObjects(t, client, i)
		}
		factory := istioinformers.NewSharedInformerFactory(client, 0)

		generated := clientgo.Generated(factory, options)
		adopted := networking.New(generated, generated.Namespace(), generated.TweakListOptions())
		adopted.V1().VirtualServices().Informer()
		adopted.V1().DestinationRules().Informer()
		adopted.V1alpha3().EnvoyFilters().Informer()

		informers := istioFactoryInformers(factory)
		start(t, factory, informers...)
		clientGo := istioinformers.NewSharedInformerFactory(client, 0)
		references := istioFactoryInformers(clientGo)
		start(t, clientGo, references...)
		for i, informer := range informers {
			expectAdopted(t, informer, false)
			expectEqual(t, references[i].GetStore(), informer.GetStore())
		}
		createIstioObjects(t, client, 20)
		for i, informer := range informers {
			await(t, "the addition", func() bool {
				return len(references[i].GetStore().ListKeys()) == 21 && len(informer.GetStore().ListKeys()) == 21
			})
			expectEqual(t, references[i].GetStore(), informer.GetStore())
		}
	})
}

// TestIstioObjectsStream checks that objects of istio are decoded from the stream, and packed, as
// client-go decodes them.
func TestIstioObjectsStream(t *testing.T) {
	eachVariant(t, func(t *testing.T, options clientgo.Options) {
		client := istioclient.NewForConfigOrDie(startPrepared(t, istioResources()...))
		for i := range 20 {
			createIstioObjects(t, client, i)
		}
		clientGo := istioinformers.NewSharedInformerFactory(client, 0)
		references := istioFactoryInformers(clientGo)
		start(t, clientGo, references...)
		options.Streaming = true
		constructors := clientgo.With(options)
		routes := client.NetworkingV1().VirtualServices("")
		rules := client.NetworkingV1().DestinationRules("")
		filters := client.NetworkingV1alpha3().EnvoyFilters("")
		informers := []clientcache.SharedIndexInformer{
			constructors.NewSharedIndexInformer(listWatch(routes.List, routes.Watch), &networkingv1.VirtualService{}, 0, clientcache.Indexers{}),
			constructors.NewSharedIndexInformer(listWatch(rules.List, rules.Watch), &networkingv1.DestinationRule{}, 0, clientcache.Indexers{}),
			constructors.NewSharedIndexInformer(listWatch(filters.List, filters.Watch), &v1alpha3.EnvoyFilter{}, 0, clientcache.Indexers{}),
		}
		for i, informer := range informers {
			start(t, newRunning(informer), informer)
			expectAdopted(t, informer, !options.DisableStreaming)
			expectEqual(t, references[i].GetStore(), informer.GetStore())
		}
		createIstioObjects(t, client, 20)
		for i, informer := range informers {
			await(t, "the addition", func() bool {
				return len(references[i].GetStore().ListKeys()) == 21 && len(informer.GetStore().ListKeys()) == 21
			})
			expectEqual(t, references[i].GetStore(), informer.GetStore())
		}
	})
}

// listWatch returns a ListWatch whose functions take a context.
func listWatch[L runtime.Object](
	list func(context.Context, metav1.ListOptions) (L, error), watch func(context.Context, metav1.ListOptions) (apiwatch.Interface, error),
) *clientcache.ListWatch {
	return &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, options)
		},
		WatchFuncWithContext: watch,
	}
}

func istioFactoryInformers(factory istioinformers.SharedInformerFactory) []clientcache.SharedIndexInformer {
	return []clientcache.SharedIndexInformer{
		factory.Networking().V1().VirtualServices().Informer(),
		factory.Networking().V1().DestinationRules().Informer(),
		factory.Networking().V1alpha3().EnvoyFilters().Informer(),
	}
}
