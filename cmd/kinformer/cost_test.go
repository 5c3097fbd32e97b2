// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

// TestMain runs the tests, or the program as a child process of one.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, measure.ChildArg) {
		main()
		return
	}
	goroutines.VerifyTestMain(m)
}

// startWithConfigMaps starts a server with 50 ConfigMaps.
func startWithConfigMaps(t *testing.T) *clustertest.Server {
	t.Helper()
	server := clustertest.Start(t, fake.APIServerOptions{})
	for i := range 50 {
		server.Create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("c-", i)}, Data: map[string]string{"text": strings.Repeat("x", 30_000)},
		})
	}
	return server
}

func TestCostMeasuresEachCache(t *testing.T) {
	server := startWithConfigMaps(t)
	code, stdout, stderr := execute(t, "cost", "cm", "--yes", "--output=json", "--qps=1000", "--server="+server.URL())
	if code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
	}
	var report struct {
		Resources []struct {
			Resource string
			Objects  int
			Caches   []struct {
				Cache      string
				HeapBytes  int64
				CPUSeconds float64
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Resources) != 1 || report.Resources[0].Resource != "configmaps" || report.Resources[0].Objects != 50 {
		t.Fatalf("report %+v", report)
	}
	var caches []measure.Variant
	for _, c := range report.Resources[0].Caches {
		caches = append(caches, measure.Variant(c.Cache))
		if c.CPUSeconds <= 0 || c.HeapBytes < 5000 {
			t.Errorf("%+v", c)
		}
	}
	if !slices.Equal(caches, measure.Variants()) {
		t.Errorf("caches %q, want %q", caches, measure.Variants())
	}
	server.ExpectRequests("list configmaps limit=1", "list configmaps limit=500")
}

// canceler cancels a context when a text is written.
type canceler struct {
	bytes.Buffer
	text   string
	cancel func()
}

func (c *canceler) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

func TestInterruptEndsTheMeasurement(t *testing.T) {
	server := startWithConfigMaps(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stderr := &canceler{text: "configmaps: 50 objects", cancel: func() { cancel(errors.New("interrupted")) }}
	var stdout bytes.Buffer
	code := run(ctx, []string{"cost", "cm", "--yes", "--qps=1000", "--server", server.URL()}, command.Streams{In: strings.NewReader(""), Out: &stdout, Err: stderr})
	if code != 1 || stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), "\nkinformer: interrupted\n") {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, stdout.String(), stderr.String())
	}
}
