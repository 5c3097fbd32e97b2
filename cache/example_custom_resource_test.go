// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// Widget is a custom resource. controller-gen can write the DeepCopy functions.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Color  string       `json:"color"`
	Status WidgetStatus `json:"status,omitzero"`
}

// WidgetStatus is what the controller has seen of a Widget.
type WidgetStatus struct {
	Painted string `json:"painted,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	copied := *w
	w.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// WidgetList is a list of Widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	copied := &WidgetList{TypeMeta: l.TypeMeta, Items: make([]Widget, len(l.Items))}
	l.DeepCopyInto(&copied.ListMeta)
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Widget)
	}
	return copied
}

// widgetClient returns a client of the API group example.com, with a scheme that has Widgets.
func widgetClient(config *rest.Config) (rest.Interface, error) {
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, version)
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent() // as the constructors of clientsets do
	}
	return rest.RESTClientFor(config)
}

// This example is a controller of custom resources of a Go type of the program, without a generated
// clientset: it lists and watches them, and writes the status of one.
func ExampleNewListWatchFromClient_customResource() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{
			Group: "example.com", Versions: []string{"v1"}, Kind: "Widget", StatusSubresource: true,
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	if err := server.Create(&Widget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}, // the server does not know the Go type
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gear"},
		Color:      "red",
	}); err != nil {
		log.Fatal(err)
	}
	config := server.Config()
	cache.EnableStreaming(config)
	client, err := widgetClient(config)
	if err != nil {
		log.Fatal(err)
	}

	lw := cache.NewListWatchFromClient(client, "widgets", metav1.NamespaceAll, nil)
	widgets := cache.NewSharedInformer(lw, &Widget{}, cache.InformerOptions[*Widget]{
		Indexers: cache.Indexers[*Widget]{
			"color": cache.ByObject(func(widget *Widget) ([]string, error) { return []string{widget.Color}, nil }),
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- widgets.Run(ctx) }()
	if err := widgets.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	red, err := widgets.Store().ByIndex("color", "red")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(red[0].Name, red[0].Color)

	changed := red[0].DeepCopyObject().(*Widget) // objects in the store must not be changed
	changed.Status.Painted = changed.Color
	written := &Widget{}
	err = client.Put().Resource("widgets").Namespace(changed.Namespace).Name(changed.Name).SubResource("status").
		Body(changed).Do(ctx).Into(written)
	if err != nil {
		log.Fatal(err)
	}
	if err := widgets.WaitForObject(ctx, written); err != nil {
		log.Fatal(err)
	}
	gear, _ := widgets.Store().GetByKey("default/gear")
	fmt.Println("painted", gear.Status.Painted)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// gear red
	// painted red
	// stopped: <nil>
}
