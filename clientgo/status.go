// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"fmt"

	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/informer"
)

// ControllerOf returns the controller of an informer of this package, or of a Controller that a
// constructor of this package, such as [Constructors.NewInformer], has returned. The informer may
// be embedded in another type, such as client-go's typed wrappers. Among its methods are waits, a
// health check and Status:
//
//	pod, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
//	err = clientgo.ControllerOf(informer).WaitForObject(ctx, pod)
//	// listers have the Pod
//
// HasDelivered and WaitForDelivery include all handlers. Run is the informer's RunWithContext and
// returns nil. For any other informer the controller is invalid: its methods return an error, and
// its Status has the phase cache.PhaseInvalid.
func ControllerOf(informer interface{ HasSynced() bool }) *cache.Controller {
	own := ownInformer(informer)
	if own == nil {
		described := clientcache.SharedIndexInformerOptions{ObjectDescription: fmt.Sprintf("%T", informer)}
		own = newInformer(nil, nil, settings{SharedIndexInformerOptions: described})
		own.invalid = fmt.Errorf("%T is not an informer of kinformer", informer)
	}
	return own.controller()
}

// ownInformer returns the informer of this package that an informer or a controller is, or nil.
func ownInformer(informer any) *sharedIndexInformer {
	switch i := informer.(type) {
	case *controller:
		return i.informer
	case clientcache.SharedInformer:
		own, _ := unwrap(i).(*sharedIndexInformer)
		return own
	}
	return nil
}

// StatusOf returns ControllerOf(informer).Status().
func StatusOf(informer interface{ HasSynced() bool }) cache.Status {
	return ControllerOf(informer).Status()
}

// ControllersOf returns the controllers of the informers that a factory has made so far, in no
// particular order. The factory is one of this package or the result of [Generated]; for any other,
// ControllersOf returns nil.
func ControllersOf(factory any) []*cache.Controller {
	own, ok := factory.(interface {
		madeInformers() []clientcache.SharedIndexInformer
	})
	if !ok {
		return nil
	}
	var controllers []*cache.Controller
	for _, informer := range own.madeInformers() {
		controllers = append(controllers, ControllerOf(informer))
	}
	return controllers
}

// Views returns a factory's informers for packages metrics and debug. Each call of its method Views
// returns those that the factory has made so far. The factory is one of this package or the result
// of [Generated]; any other has none. See also [Options].Group.
func Views(factory any) cache.Viewable { return factoryViews{factory} }

type factoryViews struct{ factory any }

func (f factoryViews) Views() (views []cache.View) {
	for _, controller := range ControllersOf(f.factory) {
		views = append(views, controller.Views()...)
	}
	return views
}

func (s *sharedIndexInformer) controller() *cache.Controller {
	return cache.NewAdaptedController(informer.Adapted{
		Name:    s.options.ObjectDescription,
		Invalid: s.invalid,
		Engine:  s.engine,
		Run:     func(ctx context.Context) error { s.RunWithContext(ctx); return nil },
		Source:  s.source,
		Kind:    s.objects.Kind(),
		Key:     s.indexer.key,
		Scopes:  s.scopes,
	})
}
