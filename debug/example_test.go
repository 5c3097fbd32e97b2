// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/fake"
)

// This example serves the page of an informer beside a program's other pages.
func ExampleHandler() {
	nodes := fake.NewListerWatcher(&corev1.Node{})
	nodes.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	informer := cache.NewSharedInformer(nodes, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{Name: "nodes"})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- informer.Run(ctx) }()
	if err := informer.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}, informer))
	server := httptest.NewServer(mux)
	response, err := server.Client().Get(server.URL + "/debug/informers/")
	if err != nil {
		log.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	fmt.Println(response.Status, strings.Contains(string(page), "1 object "), err)
	server.Close()
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 200 OK true <nil>
	// stopped: <nil>
}
