// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

// harness runs the command with a server.
type harness struct {
	*clustertest.Server
	t   *testing.T
	in  io.Reader
	out bytes.Buffer
	err bytes.Buffer

	edit     func(*session)
	measured []*collection.Collection
}

// start starts a server with a custom resource. The environment selects no cluster.
func start(t *testing.T) *harness {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	return &harness{t: t, in: strings.NewReader(""), edit: func(*session) {}, Server: clustertest.Start(t, fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}},
	})}
}

func (h *harness) createPods(n int) { h.createMorePods(0, n) }

func (h *harness) createMorePods(from, n int) {
	for i := from; i < from+n; i++ {
		h.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprintf("pod-%05d", i)}})
	}
}

func (h *harness) createConfigMaps(n int) {
	for i := range n {
		h.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprintf("c-%05d", i)}})
	}
}

func (h *harness) createNode() {
	h.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
}

// run runs the command, with made-up figures instead of measurements, and of the memory they take.
func (h *harness) run(ctx context.Context, args ...string) error {
	h.t.Helper()
	h.out.Reset()
	h.err.Reset()
	h.measured = nil
	h.Requests()
	o, err := parse(append(args, "--server", h.URL(), "--qps", "1000000"))
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := newSession(ctx, o, command.Streams{In: h.in, Out: &h.out, Err: &h.err})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.client.Close()
	s.measure = h.measure
	s.limits.MemoryFor = func(_, bytes int64, _ string) int64 { return 10 * bytes }
	h.edit(s)
	return s.run(ctx)
}

// measure is a measurer that makes up figures.
func (h *harness) measure(_ context.Context, c *collection.Collection, began func(string)) ([]cost, error) {
	h.measured = append(h.measured, c)
	if c.Kind == "Widget" {
		return nil, errors.New("measure widgets: no such luck")
	}
	began("client-go")
	heap := 1000 * int64(len(c.Items))
	packed := heap / 4
	if c.Kind == "ConfigMap" {
		packed = 5 * heap
	}
	return []cost{
		{Cache: "client-go", HeapBytes: 4 * heap, PeakRSSBytes: 3e6, CPUSeconds: 0.5, Seconds: 0.25},
		{Cache: "kinformer", HeapBytes: max(heap, packed*4/5), CPUSeconds: 0.125, Seconds: 0.1},
		{Cache: "kinformer, packed", HeapBytes: packed, CPUSeconds: 0.0625, Seconds: 0.1},
	}, nil
}

// rateLine is the part of a line that depends on the time.
var rateLine = regexp.MustCompile(` in \d+m?s, .*/s`)

// text returns what was printed, without the address of the server and rates.
func (h *harness) text(printed *bytes.Buffer) string {
	return rateLine.ReplaceAllString(strings.ReplaceAll(printed.String(), h.URL(), "http://server"), " in TIME, RATE")
}

func (h *harness) mustRun(args ...string) {
	h.t.Helper()
	if err := h.run(h.t.Context(), args...); err != nil {
		h.t.Fatalf("%v: %v\n%s", args, err, h.err.String())
	}
}

// expectError runs the command, which must fail with an error that contains want.
func (h *harness) expectError(want string, args ...string) {
	h.t.Helper()
	if err := h.run(h.t.Context(), args...); err == nil || !strings.Contains(err.Error(), want) {
		h.t.Errorf("%v: error %v, want %q", args, err, want)
	}
}

// blocked is an input that nothing arrives on until it is closed.
type blocked struct {
	closed chan struct{}
	once   sync.Once
	read   chan struct{} // closed by the first read
}

func (b *blocked) Read([]byte) (int, error) {
	b.once.Do(func() { close(b.read) })
	<-b.closed
	return 0, io.EOF
}

// answering returns an input that answers yes after f.
func answering(f func()) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		f()
		return copy(p, "y\n"), nil
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
