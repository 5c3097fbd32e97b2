// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

// TestProgramsPrintTheSame runs both programs against one API server.
func TestProgramsPrintTheSame(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	for n := range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("web-", n)}, Spec: corev1.PodSpec{NodeName: "node-1"}}
		if err := server.Create(pod); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := program.Kubeconfig(t, server.Config())
	for _, folder := range []string{"before", "after"} {
		t.Run(folder, func(t *testing.T) {
			p := program.StartIn(t, folder, "-kubeconfig", kubeconfig)
			p.ExpectAll("node-1 has web-0", "node-1 has web-1", "node-1 has web-2", "synced, 3 Pods")
			p.Stop()
		})
	}
}

// TestProgramsDifferInImportsOnly compares the two programs line by line.
func TestProgramsDifferInImportsOnly(t *testing.T) {
	before, after := lines(t, "before/main.go"), lines(t, "after/main.go")
	added := slices.DeleteFunc(slices.Clone(after), func(line string) bool { return slices.Contains(before, line) })
	removed := slices.DeleteFunc(slices.Clone(before), func(line string) bool { return slices.Contains(after, line) })
	want := []string{
		"// Command after prints the Pods of each node, by kinformer's informers.",
		`kinformer "github.com/kinformer/kinformer/cache"`,
		`"github.com/kinformer/kinformer/clientgo/informers"`,
		"kinformer.EnableStreaming(config)",
	}
	if !slices.Equal(added, want) {
		t.Errorf("lines only in after: %q, want %q", added, want)
	}
	if len(removed) != 2 || removed[1] != `"k8s.io/client-go/informers"` {
		t.Errorf("lines only in before: %q, want its comment and one import", removed)
	}
}

func lines(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}
