// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

// seed is the seed of all generated objects, so that runs are alike.
const seed = 9

// sharedCluster is started by the first test that uses it, and stopped at the end of the process.
var sharedCluster struct {
	once    sync.Once
	cluster *cluster.Cluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stopShared(code != 0); err != nil {
		fmt.Fprintln(os.Stderr, "stop the shared cluster:", err)
		code = 1
	}
	os.Exit(goroutines.Verify(code))
}

// stopShared stops the shared cluster if a test has started it.
func stopShared(failed bool) error {
	c := sharedCluster.cluster
	switch {
	case c == nil:
		return nil
	case failed:
		return c.StopKeepingLogs()
	default:
		return c.Stop()
	}
}

// shared returns the shared cluster. A test must not stop, compact or restore it.
func shared(t *testing.T) *cluster.Cluster {
	t.Helper()
	s := &sharedCluster
	// Not the test's context: the cluster outlives the test that starts it.
	s.once.Do(func() { s.cluster, s.err = cluster.Start(context.Background(), cluster.Options{}) })
	if s.err != nil {
		t.Fatalf("start the shared cluster: %v", s.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.cluster.ShowLogs(t)
		}
	})
	return s.cluster
}

// clientsetFor returns a typed client of a cluster.
func clientsetFor(t *testing.T, c *cluster.Cluster) *kubernetes.Clientset {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatalf("create a clientset: %v", err)
	}
	return clientset
}

// namespace creates a namespace for a test. It is not deleted: no controller would complete the
// deletion, and the cluster is temporary.
func namespace(t *testing.T, clientset kubernetes.Interface) string {
	t.Helper()
	created, err := clientset.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return created.Name
}
