// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"
)

// Manager returns a function for the field Start of a simulation. It runs a controller-runtime manager without ports
// and logs. The scheme has the built-in types and those of add. Configure may change the options; it may be nil.
func Manager(add func(*runtime.Scheme) error, configure func(*ctrl.Options), setUp func(ctrl.Manager) error) func(context.Context, *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err) // of two types with one name
	}
	if err := add(scheme); err != nil {
		panic(err)
	}
	return func(ctx context.Context, restConfig *rest.Config) error {
		options := ctrl.Options{
			Scheme: scheme, Logger: logr.Discard(), HealthProbeBindAddress: "0", Metrics: metricsserver.Options{BindAddress: "0"},
			Controller: config.Controller{SkipNameValidation: new(true)}, // each run has a controller of the same name
		}
		if configure != nil {
			configure(&options)
		}
		manager, err := ctrl.NewManager(restConfig, options)
		if err != nil {
			return fmt.Errorf("create manager: %w", err)
		}
		if err := setUp(manager); err != nil {
			return fmt.Errorf("set up controllers: %w", err)
		}
		return manager.Start(ctx)
	}
}

// Parse returns the object of a YAML document. It panics if there is none.
func Parse(document string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(document), &obj.Object); err != nil {
		panic(err)
	}
	if obj.GetKind() == "" {
		panic("simulated: a document without a kind")
	}
	return obj
}

// Template returns a function that replaces words of a YAML document, given in pairs with their values, and returns
// the object.
func Template(document string) func(oldnew ...string) *unstructured.Unstructured {
	return func(oldnew ...string) *unstructured.Unstructured {
		return Parse(strings.NewReplacer(oldnew...).Replace(document))
	}
}
