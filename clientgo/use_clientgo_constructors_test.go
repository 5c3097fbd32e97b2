// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientcache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestUseClientGoAppliesToEachConstructor calls each constructor with and without the option. Of
// the constructors, only those of reflectors do not change.
func TestUseClientGoAppliesToEachConstructor(t *testing.T) {
	for _, use := range []bool{false, true} {
		constructors := clientgo.With(clientgo.Options{UseClientGo: use})
		called := 0
		for _, methods := range []reflect.Value{reflect.ValueOf(constructors), reflect.ValueOf(constructors.Metadata())} {
			for method, function := range methods.Methods() {
				if !strings.HasPrefix(method.Name, "New") {
					continue
				}
				called++
				for _, made := range function.Call(argumentsOf(function.Type())) {
					_, isReflector := made.Interface().(*clientgo.Reflector)
					if want := use && !isReflector; isClientGos(made.Interface()) != want {
						t.Errorf("UseClientGo=%v: %s returned a %T", use, method.Name, made.Interface())
					}
				}
			}
		}
		if called < 20 {
			t.Errorf("called %d constructors only", called)
		}
	}
}

// argumentsOf returns arguments for a constructor, without optional ones.
func argumentsOf(function reflect.Type) (arguments []reflect.Value) {
	lw := podsOf(clientfake.NewClientset())
	known := map[reflect.Type]any{
		reflect.TypeFor[kubernetes.Interface]():       clientfake.NewClientset(),
		reflect.TypeFor[dynamic.Interface]():          dynamicfake.NewSimpleDynamicClient(scheme.Scheme),
		reflect.TypeFor[metadata.Interface]():         metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()),
		reflect.TypeFor[clientcache.ListerWatcher]():  lw,
		reflect.TypeFor[clientcache.ReflectorStore](): clientcache.NewStore(clientcache.MetaNamespaceKeyFunc),
		reflect.TypeFor[clientcache.KeyFunc]():        clientcache.KeyFunc(clientcache.MetaNamespaceKeyFunc),
		reflect.TypeFor[runtime.Object]():             &corev1.Pod{},
		reflect.TypeFor[any]():                        &corev1.Pod{},
		reflect.TypeFor[clientcache.InformerOptions](): clientcache.InformerOptions{
			ListerWatcher: lw, ObjectType: &corev1.Pod{},
		},
	}
	for i := range function.NumIn() {
		if function.IsVariadic() && i == function.NumIn()-1 {
			break
		}
		argument := reflect.New(function.In(i)).Elem()
		if value, ok := known[function.In(i)]; ok {
			argument.Set(reflect.ValueOf(value))
		}
		arguments = append(arguments, argument)
	}
	return arguments
}

// TestUseClientGoLeavesMadeInformers passes informers and factories of client-go to the functions
// that replace them, and to controller-runtime's option.
func TestUseClientGoLeavesMadeInformers(t *testing.T) {
	for _, use := range []bool{false, true} {
		options := clientgo.Options{UseClientGo: use}
		client := clientfake.NewClientset()
		if made := options.NewInformer(podsOf(client), &corev1.Pod{}, 0, clientcache.Indexers{}); isClientGos(made) != use {
			t.Errorf("UseClientGo=%v: NewInformer returned a %T", use, made)
		}
		original := coreinformers.NewPodInformer(client, "ns", 0, clientcache.Indexers{})
		if adopted := clientgo.Adopt(original, options); (adopted == original) != use {
			t.Errorf("UseClientGo=%v: Adopt returned a %T", use, adopted)
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		generated := clientgo.Generated(factory, options)
		made := core.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Pods().Informer()
		if made.GetStore() != factory.Core().V1().Pods().Informer().GetStore() || isClientGos(made) != use {
			t.Errorf("UseClientGo=%v: the factory of Generated has a %T", use, made)
		}
		if views := clientgo.Views(generated).Views(); (len(views) == 0) != use {
			t.Errorf("UseClientGo=%v: %d views", use, len(views))
		}
	}
}

// TestUseClientGoIsOneForAFactory asks the factories for every kind of informer that they make,
// also by a function that returns an informer of the other kind.
func TestUseClientGoIsOneForAFactory(t *testing.T) {
	factory := clientgo.With(clientgo.Options{UseClientGo: true}).NewSharedInformerFactory(clientfake.NewClientset(), 0)
	services, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("services"))
	if err != nil {
		t.Fatal(err)
	}
	for _, informer := range []clientcache.SharedIndexInformer{
		services.Informer(), factory.Core().V1().Services().Informer(), factory.Apps().V1().Deployments().Informer(),
		factory.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) clientcache.SharedIndexInformer {
			return coreinformers.NewPodInformer(client, "ns", resync, clientcache.Indexers{})
		}),
	} {
		if !isClientGos(informer) {
			t.Errorf("the factory has a %T", informer)
		}
	}
	other := plain.NewSharedInformerFactory(clientfake.NewClientset(), 0)
	pods := other.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) clientcache.SharedIndexInformer {
		return clientgo.With(clientgo.Options{UseClientGo: true}).NewSharedIndexInformer(podsOf(client), &corev1.Pod{}, resync, clientcache.Indexers{})
	})
	if isClientGos(pods) {
		t.Errorf("the factory has a %T", pods)
	}
}

// TestClientGosInformerHasNoStatus calls the functions that read more than client-go's interfaces
// have.
func TestClientGosInformerHasNoStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := new(cache.Group)
		constructors := clientgo.With(clientgo.Options{UseClientGo: true, Group: group})
		factory := constructors.NewSharedInformerFactory(clientfake.NewClientset(cachetest.Pod("a")), 0)
		informer := factory.Core().V1().Pods().Informer()
		factory.WaitForCacheSync(startFactory(t, factory))
		_, controller := constructors.NewInformer(podsOf(clientfake.NewClientset()), &corev1.Pod{}, 0, clientcache.ResourceEventHandlerFuncs{})
		for _, made := range []interface{ HasSynced() bool }{informer, controller} {
			if status := clientgo.StatusOf(made); status.Phase != cache.PhaseInvalid || status.Err == nil {
				t.Errorf("the status of a %T is %+v", made, status)
			}
			of := clientgo.ControllerOf(made)
			for name, err := range map[string]error{
				"WaitForObject": of.WaitForObject(t.Context(), cachetest.Pod("a")),
				"WaitForDelete": of.WaitForDelete(t.Context(), cachetest.Pod("a")),
				"HealthCheck":   of.HealthCheck(cache.HealthOptions{})(nil),
				"Run":           of.Run(t.Context()),
			} {
				if err == nil || !strings.Contains(err.Error(), "is not an informer of kinformer") {
					t.Errorf("%s of a %T returned %v", name, made, err)
				}
			}
		}
		if controllers := clientgo.ControllersOf(factory); len(controllers)+len(clientgo.Views(factory).Views())+len(group.Views()) != 0 {
			t.Errorf("%d controllers, and views of the factory or the group", len(controllers))
		}
	})
}

// TestUseClientGoCannotSelect checks that no informer runs with objects that the program does not
// expect.
func TestUseClientGoCannotSelect(t *testing.T) {
	for name, options := range map[string]clientgo.Options{
		"Filter": {Filter: func(any) bool { return true }},
		"Scopes": {Scopes: func(runtime.Object) *cache.Scopes { return nil }},
	} {
		options.UseClientGo = true
		for way, newInformer := range informersOfPods {
			cachetest.RunInBubble(t, name+"/"+way, func(t *testing.T) {
				made := newInformer(clientgo.With(options))
				stop := make(chan struct{})
				made.start(stop)
				synctest.Wait()
				status := clientgo.StatusOf(made.informer)
				if made.informer.HasSynced() || status.Phase != cache.PhaseInvalid || status.Err == nil || !strings.Contains(status.Err.Error(), "UseClientGo cannot be combined with") {
					t.Errorf("synced: %v, status %+v", made.informer.HasSynced(), status)
				}
				close(stop)
				made.shutdown()
			})
		}
	}
}

// TestClientGoWithNilHandlerAndIndexers passes what this package's constructors accept, and
// client-go's do not: a nil handler, and nil indexers to which others are added.
func TestClientGoWithNilHandlerAndIndexers(t *testing.T) {
	byName := clientcache.Indexers{"name": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Name}, nil }}
	for _, useClientGo := range []bool{false, true} {
		cachetest.RunInBubble(t, fmt.Sprint(useClientGo), func(t *testing.T) {
			options := clientgo.Options{UseClientGo: useClientGo}
			constructors := clientgo.With(options)
			source := fcache.NewFakeControllerSource()
			defer source.Shutdown()
			source.Add(cachetest.Pod("a"))
			for _, informer := range []clientcache.SharedIndexInformer{
				constructors.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil),
				constructors.NewSharedIndexInformerWithOptions(source, &corev1.Pod{}, clientcache.SharedIndexInformerOptions{}),
				options.NewInformer(source, &corev1.Pod{}, 0, nil),
			} {
				if err := informer.AddIndexers(byName); err != nil {
					t.Error(err)
				}
			}
			if err := constructors.NewIndexer(clientcache.MetaNamespaceKeyFunc, nil).AddIndexers(byName); err != nil {
				t.Error(err)
			}
			store, controller := constructors.NewInformer(source, &corev1.Pod{}, 0, nil)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				controller.RunWithContext(ctx)
			}()
			if !clientcache.WaitForCacheSync(ctx.Done(), controller.HasSynced) || len(store.ListKeys()) != 1 {
				t.Errorf("%d objects, want 1", len(store.ListKeys()))
			}
			cancel()
			<-done
		})
	}
}
