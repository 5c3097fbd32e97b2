// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestLateServerCausesNoList breaks the watches of informers at a server that opens the next ones
// at once and sends nothing for 8 s, or refuses their start.
func TestLateServerCausesNoList(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	for name, c := range map[string]struct {
		informers int
		meanwhile func(t *testing.T, s *skewed)
	}{
		"nothing happens":               {10, func(*testing.T, *skewed) {}},
		"the newest object is deleted":  {100, func(t *testing.T, s *skewed) { s.delete(t, 4) }},
		"the newest object is written":  {10, func(t *testing.T, s *skewed) { s.write(t, pods, 4, "2") }},
		"all changed objects are gone":  {10, func(t *testing.T, s *skewed) { s.delete(t, 2, 3, 4) }},
		"the starts of watches are 410": {10, func(_ *testing.T, s *skewed) { s.servers.forget(s.server) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &skewed{servers: &twoServers{}, server: startInMemory(t)}
				defer func() { _ = s.server.Close(context.Background()) }()
				s.client = dynamic.NewForConfigOrDie(s.server.Config())
				for n := range 5 {
					s.write(t, pods, n, "0")
				}
				config := s.server.Config()
				s.servers.next, config.Transport = config.Transport, s.servers
				config.QPS = -1
				cache.EnableStreaming(config)
				var all []*cache.SharedInformer[*unstructured.Unstructured]
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for range c.informers {
					informer := cache.NewSharedInformer(skewedPods(config), ofKind("v1", "Pod"), cache.InformerOptions[*unstructured.Unstructured]{})
					all = append(all, informer)
					running.Go(func() { _ = informer.Run(ctx) })
				}
				synctest.Wait()
				for n := range 5 {
					s.write(t, pods, n, "1")
				}
				<-time.After(10 * time.Second)

				s.servers.late.Store(int64(8 * time.Second))
				s.servers.breakWatches()
				c.meanwhile(t, s)
				<-time.After(time.Minute)
				s.servers.late.Store(0)
				<-time.After(10 * time.Minute)
				if lists, small := s.servers.lists.Load(), s.servers.small.Load(); lists != int64(c.informers) || small > 5*int64(c.informers) {
					t.Errorf("%d lists and %d requests of one object for %d informers: %v", lists, small, c.informers, all[0].Status().Requests.Relists)
				}
				for _, informer := range all {
					if got, want := informer.Store().Snapshot().ResourceVersion(), s.server.ResourceVersion(); got != want {
						t.Fatalf("an informer is at version %s, the server at %s", got, want)
					}
				}
				cancel()
				running.Wait()
			})
		})
	}
}

// forget lets the servers have no changes up to now, as if they had restarted.
func (s *twoServers) forget(server *fake.APIServer) {
	version, _ := strconv.ParseInt(server.ResourceVersion(), 10, 64)
	s.begins.Store(version)
}

// delete deletes Pods.
func (s *skewed) delete(t *testing.T, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		err := s.client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("ns").Delete(t.Context(), fmt.Sprintf("o%03d", n), metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// startInMemory starts a server without a port.
func startInMemory(t *testing.T) *fake.APIServer {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true, CustomResources: []fake.CustomResource{
		{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return server
}
