package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// screenText is a writer that a test can wait on.
type screenText struct {
	mu      sync.Mutex // guards what follows
	text    strings.Builder
	writes  int
	changed chan struct{} // closed at the next write
}

func newScreenText() *screenText { return &screenText{changed: make(chan struct{})} }

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	close(s.changed)
	s.changed = make(chan struct{})
	return s.text.Write(p)
}

func (s *screenText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// take returns what was written since the last take.
func (s *screenText) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text.Reset()
	return text
}

// await waits until a condition holds for what was written.
func (s *screenText) await(t *testing.T, holds func(text string) bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		s.mu.Lock()
		text, changed := s.text.String(), s.changed
		s.mu.Unlock()
		if holds(text) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("this was written in vain:\n%s", text)
		}
	}
}

// startServer starts an API server that is closed at the test's end.
func startServer(t *testing.T) *fake.APIServer {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return server
}

// kubeconfig writes a kubeconfig whose current context, "here", is a server.
func kubeconfig(t *testing.T, url string) (file string) {
	t.Helper()
	return writeFile(t, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
clusters:
- {name: mine, cluster: {server: %q}}
contexts:
- {name: here, context: {cluster: mine}}
- {name: lost, context: {cluster: another}}
`, url))
}

func writeFile(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runAsync runs the program in a goroutine. What it returns waits for its end.
func runAsync(ctx context.Context, out *screenText, args ...string) (wait func(t *testing.T) (code int, stderr string)) {
	errs, code := newScreenText(), make(chan int, 1)
	go func() { code <- run(ctx, args, out, errs) }()
	return func(t *testing.T) (int, string) {
		t.Helper()
		select {
		case code := <-code:
			return code, errs.String()
		case <-time.After(patience):
			t.Fatalf("it does not end; it has written\n%s\nand\n%s", out, errs)
			return 0, ""
		}
	}
}

// startCache runs an informer on a collection until the test's end, or until stop,
// and waits until it has the first state.
func startCache(t *testing.T, lw cache.ListerWatcher, handler cache.ResourceEventHandler[*corev1.Node]) (nodes *nodeCache, stop func()) {
	t.Helper()
	store, controller := cache.NewInformer(lw, &corev1.Node{}, 0, handler)
	work := startWork(t.Context())
	work.start(controller.Run)
	stop = func() {
		if err := work.stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := controller.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	return &nodeCache{server: "the test's cluster", store: store, controller: controller}, stop
}

// relay passes events on, and tells when each has been dealt with.
type relay struct {
	to    cache.ResourceEventHandler[*corev1.Node]
	heard chan<- struct{}
}

func (r relay) OnEvent(event cache.Event[*corev1.Node]) {
	r.to.OnEvent(event)
	r.heard <- struct{}{}
}

// noon is a moment for tests.
func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// testNode returns a node that is so old at noon and in some condition.
func testNode(name string, age time.Duration, ready corev1.ConditionStatus, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			CreationTimestamp: metav1.NewTime(noon().Add(-age)),
			Labels:            map[string]string{"pool": "web", corev1.LabelTopologyZone: "eu-1a", corev1.LabelHostname: name},
		},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: "10.0.0.7"}},
			NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: "v1.36.1"},
		},
	}
	if ready != "" {
		setReady(node, ready)
	}
	for _, edit := range edits {
		edit(node)
	}
	return node
}
