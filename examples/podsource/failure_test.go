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
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

const malformed = "apiVersion: v1\nkind: Pod\nmetadata: [malformed]\n"

// sourcesProgram is the example with a source of each kind, which fail when the test says so.
type sourcesProgram struct {
	*program.Program
	t      *testing.T
	server *fake.APIServer
	folder string
	served atomic.Pointer[string] // at the URL; 500 if nil
}

func startSources(t *testing.T, setUp func(*fake.APIServer)) *sourcesProgram {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	setUp(server)
	p := &sourcesProgram{t: t, server: server, folder: t.TempDir()}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if text := p.served.Load(); text != nil {
			fmt.Fprint(w, *text)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(web.Close)
	p.serve(podList("agent"))
	p.write("proxy.yaml", manifest("proxy", 1))
	p.create("web")
	p.Program = program.Start(t, "-kubeconfig", program.Kubeconfig(t, server.Config()), "-folder", p.folder, "-url", web.URL, "-interval", "20ms")
	return p
}

// podList returns a manifest with several Pods.
func podList(names ...string) string {
	text := "apiVersion: v1\nkind: PodList\nitems:\n"
	for _, name := range names {
		text += fmt.Sprintf("- metadata: {name: %s}\n", name)
	}
	return text
}

func (p *sourcesProgram) serve(text string) { p.served.Store(&text) }

// write replaces a manifest at once, so that half of it is never read.
func (p *sourcesProgram) write(name, text string) {
	p.t.Helper()
	temporary := filepath.Join(p.folder, ".new")
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(p.folder, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *sourcesProgram) create(name string) {
	p.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	if err := p.server.Create(pod); err != nil {
		p.t.Fatal(err)
	}
}

// expectUpdate reads the next update, which must be this one.
func (p *sourcesProgram) expectUpdate(want string) {
	p.t.Helper()
	for {
		switch line := p.Expect(); {
		case line == want:
			return
		case isUpdate(line):
			p.t.Fatalf("the next update is %q, want %q", line, want)
		}
	}
}

// expectError reads lines until an error with all texts. There must be no update before it.
func (p *sourcesProgram) expectError(texts ...string) {
	p.t.Helper()
	for {
		switch line := p.Expect(); {
		case isUpdate(line):
			p.t.Fatalf("the update %q, want an error with %q", line, texts)
		case !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }):
			return
		}
	}
}

func isUpdate(line string) bool {
	return strings.HasPrefix(line, "api   ") || strings.HasPrefix(line, "file  ") || strings.HasPrefix(line, "http  ")
}

// TestFailingSourceKeepsItsLastGoodSet lets one source fail after the other. Each keeps its Pods
// until it recovers, and the others go on meanwhile. A source that lost its Pods would print a
// DELETE.
func TestFailingSourceKeepsItsLastGoodSet(t *testing.T) {
	p := startSources(t, func(*fake.APIServer) {})
	p.ExpectAll("api   SET     shop/web", "file  SET     default/proxy-node-1", "http  SET     default/agent-node-1")

	p.served.Store(nil)
	p.expectError("Keeping the last good set", "500 Internal Server Error")
	p.serve(malformed)
	p.expectError("Keeping the last good set", "manifest http://", "cannot unmarshal")
	p.write("dns.yaml", manifest("dns", 1))
	p.expectUpdate("file  ADD     default/dns-node-1")
	p.create("shop")
	p.expectUpdate("api   ADD     shop/shop")
	p.serve(podList("agent", "logger"))
	p.expectUpdate("http  ADD     default/logger-node-1")

	p.write("proxy.yaml", malformed)
	p.expectError("Keeping the last good set", "proxy.yaml", "cannot unmarshal")
	p.create("cart")
	p.expectUpdate("api   ADD     shop/cart")
	p.serve(podList("agent", "logger", "meter"))
	p.expectUpdate("http  ADD     default/meter-node-1")
	p.write("proxy.yaml", manifest("proxy", 1))
	p.write("router.yaml", manifest("router", 1))
	p.expectUpdate("file  ADD     default/router-node-1")

	if err := p.server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.expectError("Pods of node-1")
	p.write("scanner.yaml", manifest("scanner", 1))
	p.expectUpdate("file  ADD     default/scanner-node-1")
	p.serve(podList("agent", "logger"))
	p.expectUpdate("http  DELETE  default/meter-node-1")
	p.Stop()
}

// TestSourcesDoNotWaitForTheAPIServer starts while the API server fails.
func TestSourcesDoNotWaitForTheAPIServer(t *testing.T) {
	p := startSources(t, func(server *fake.APIServer) {
		ofPods := func(request fake.APIRequest) bool { return request.Resource == "pods" && request.Verb != "create" }
		server.InjectFault(-1, ofPods, fake.Fault{Err: context.DeadlineExceeded})
	})
	p.ExpectAll("file  SET     default/proxy-node-1", "http  SET     default/agent-node-1")
	p.server.ClearFaults()
	p.expectUpdate("api   SET     shop/web")
	p.Stop()
}

// TestRemovedFolderIsWatchedAgain removes the folder, whose path ends with a slash, and creates it
// again.
func TestRemovedFolderIsWatchedAgain(t *testing.T) {
	p := &sourcesProgram{t: t, folder: filepath.Join(t.TempDir(), "manifests")}
	mkdir := func() {
		if err := os.Mkdir(p.folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mkdir()
	p.write("a.yaml", manifest("a", 1))
	config := newPodConfig()
	source := newFolderSource(p.folder+"/", "n", config)
	source.retry = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- cache.RunAll(ctx, config.Run, source.Run) }()
	next := func(want op, name string) {
		t.Helper()
		select {
		case u := <-config.updates:
			if u.op != want || len(u.pods) != 1 || u.pods[0].Name != name {
				t.Fatalf("got %v, want %s of %s", u, want, name)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no %s of %s", want, name)
		}
	}
	next(opSet, "a-n")
	if err := os.RemoveAll(p.folder); err != nil {
		t.Fatal(err)
	}
	mkdir()
	p.write("b.yaml", manifest("b", 1))
	next(opDelete, "a-n")
	next(opAdd, "b-n")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
