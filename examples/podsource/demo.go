// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

// demo has a source of each kind, which it changes every second.
type demo struct {
	server *fake.APIServer
	web    *httptest.Server
	folder string
	node   string
	served atomic.Pointer[string] // the manifest at the URL
	cancel context.CancelFunc
	ended  chan struct{}
}

// startDemo starts the sources and sets the options that select them.
func startDemo(ctx context.Context, o *options) (*demo, error) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "podsource")
	if err != nil {
		return nil, err
	}
	d := &demo{server: server, folder: folder, node: o.node, ended: make(chan struct{})}
	d.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, *d.served.Load()) }))
	o.folder, o.url, o.interval = folder, d.web.URL, time.Second
	ctx, d.cancel = context.WithCancel(ctx)
	d.change(0)
	go func() {
		defer close(d.ended)
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
				d.change(n)
			}
		}
	}()
	return d, nil
}

// stop stops the sources and removes the folder.
func (d *demo) stop() {
	d.cancel()
	<-d.ended
	d.web.Close()
	closing, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = d.server.Close(closing)
	_ = os.RemoveAll(d.folder)
}

// change makes the nth change of all sources. Every fourth manifest is malformed.
func (d *demo) change(n int) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.PodSpec{NodeName: d.node}}
	if n == 0 {
		_ = d.server.Create(pod)
	} else {
		pod.Labels = map[string]string{"change": fmt.Sprint(n)}
		_ = d.server.Update(pod)
	}
	text := manifest("proxy", n)
	if n%4 == 3 {
		text = "apiVersion: v1\nkind: Pod\nmetadata: [malformed]\n"
	}
	// A kubelet would read half a file if it were written in place.
	temporary := filepath.Join(d.folder, ".new")
	_ = os.WriteFile(temporary, []byte(text), 0o600)
	_ = os.Rename(temporary, filepath.Join(d.folder, "proxy.yaml"))
	served := manifest("agent", n/2)
	d.served.Store(&served)
}

func manifest(name string, n int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\nspec:\n  containers:\n  - name: main\n    image: example.com/%s:%d\n", name, name, n)
}
