// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package informers has the exported names of client-go's package informers. Its factories make
// informers of package [clientgo] with the zero [clientgo.Options]. A program changes its import:
//
//	import "k8s.io/client-go/informers"                      // before
//	import "github.com/kinformer/kinformer/clientgo/informers" // after
//
// For other options, see [clientgo.With].
package informers

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// Types of client-go.
type (
	GenericInformer       = clientinformers.GenericInformer
	SharedInformerFactory = clientinformers.SharedInformerFactory
	SharedInformerOption  = clientinformers.SharedInformerOption
)

// NewSharedInformerFactory calls [clientgo.Constructors.NewSharedInformerFactory].
func NewSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration) clientinformers.SharedInformerFactory {
	return clientgo.With(clientgo.Options{}).NewSharedInformerFactory(client, defaultResync)
}

// NewFilteredSharedInformerFactory calls [clientgo.Constructors.NewFilteredSharedInformerFactory].
func NewFilteredSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration, namespace string, tweakListOptions internalinterfaces.TweakListOptionsFunc) clientinformers.SharedInformerFactory {
	return clientgo.With(clientgo.Options{}).NewFilteredSharedInformerFactory(client, defaultResync, namespace, tweakListOptions)
}

// NewSharedInformerFactoryWithOptions calls
// [clientgo.Constructors.NewSharedInformerFactoryWithOptions].
func NewSharedInformerFactoryWithOptions(client kubernetes.Interface, defaultResync time.Duration, options ...clientinformers.SharedInformerOption) clientinformers.SharedInformerFactory {
	return clientgo.With(clientgo.Options{}).NewSharedInformerFactoryWithOptions(client, defaultResync, options...)
}

// WithCustomResyncConfig calls client-go's function.
func WithCustomResyncConfig(resyncConfig map[metav1.Object]time.Duration) clientinformers.SharedInformerOption {
	return clientinformers.WithCustomResyncConfig(resyncConfig)
}

// WithInformerName calls client-go's function.
func WithInformerName(informerName *clientcache.InformerName) clientinformers.SharedInformerOption {
	return clientinformers.WithInformerName(informerName)
}

// WithNamespace calls client-go's function.
func WithNamespace(namespace string) clientinformers.SharedInformerOption {
	return clientinformers.WithNamespace(namespace)
}

// WithTransform calls client-go's function.
func WithTransform(transform clientcache.TransformFunc) clientinformers.SharedInformerOption {
	return clientinformers.WithTransform(transform)
}

// WithTweakListOptions calls client-go's function.
func WithTweakListOptions(tweakListOptions internalinterfaces.TweakListOptionsFunc) clientinformers.SharedInformerOption {
	return clientinformers.WithTweakListOptions(tweakListOptions)
}
