// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/e2e/objects"
)

// serverHarness is a cluster for one test, with clients and a namespace.
type serverHarness struct {
	*cluster.Cluster
	clientset *kubernetes.Clientset
	life      *objects.Life
	workload  *objects.Workload
	namespace string
}

func newServerHarness(t *testing.T) *serverHarness {
	t.Helper()
	c := cluster.New(t, cluster.Options{})
	clientset := clientsetFor(t, c)
	ns := namespace(t, clientset)
	return &serverHarness{c, clientset, objects.NewLife(clientset, seed), objects.NewWorkload(seed, 0, ns), ns}
}

// create creates a replica and returns its resourceVersion.
func (s *serverHarness) create(t *testing.T, replica int) string {
	t.Helper()
	pod, err := s.life.Create(t.Context(), s.workload.Pod(replica))
	if err != nil {
		t.Fatal(err)
	}
	return pod.ResourceVersion
}

// expectAdded checks that the next event is the addition of a replica.
func (s *serverHarness) expectAdded(t *testing.T, w podWatch, replica int) {
	t.Helper()
	want := s.workload.Pod(replica).Name
	if kind, pod := w.pod(t); kind != watch.Added || pod.Name != want {
		t.Errorf("event %s of %s, want ADDED of %s", kind, pod.Name, want)
	}
}

func TestServerRestartEndsWatch(t *testing.T) {
	for name, end := range map[string]func(*cluster.Server) error{"stopped": (*cluster.Server).Stop, "killed": (*cluster.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			s := newServerHarness(t)
			w := watchPods(t, s.clientset, s.namespace, s.create(t, 0))
			s.create(t, 1)
			s.expectAdded(t, w, 1)
			if err := end(s.APIServer()); err != nil {
				t.Fatal(err)
			}
			w.awaitEnd(t)
			if err := s.APIServer().Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			// The server's watch cache begins at its start, so versions from before the restart are
			// often too old, if only because of writes to other resources. A client must be
			// prepared to relist.
			names, listed := s.names(t)
			if len(names) != 2 {
				t.Errorf("Pods after the restart: %v, want two", names)
			}
			s.create(t, 2)
			s.expectAdded(t, watchPods(t, s.clientset, s.namespace, fmt.Sprint(listed)), 2)
		})
	}
}

// TestServerWatchSurvivesEtcdRestart checks that kube-apiserver reconnects to etcd and serves a
// watch from its watch cache afterwards.
func TestServerWatchSurvivesEtcdRestart(t *testing.T) {
	for name, end := range map[string]func(*cluster.Server) error{"stopped": (*cluster.Server).Stop, "killed": (*cluster.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			s := newServerHarness(t)
			last := s.create(t, 0)
			if err := end(s.Etcd()); err != nil {
				t.Fatal(err)
			}
			if err := s.Etcd().Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Requests fail until kube-apiserver has reconnected to etcd.
			s.await(t, "a Pod can be created again", func(ctx context.Context) error {
				_, err := s.life.Create(ctx, s.workload.Pod(1))
				return err
			})
			s.expectAdded(t, watchPods(t, s.clientset, s.namespace, last), 1)
		})
	}
}

// await calls try until it succeeds.
func (s *serverHarness) await(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), waitTimeout/600, waitTimeout, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last error: %v", what, err, last)
	}
}

// TestServerExpiresCompactedVersions checks that a watch from a compacted version is answered with
// 410 Gone once kube-apiserver's watch cache begins after that version.
func TestServerExpiresCompactedVersions(t *testing.T) {
	s := newServerHarness(t)
	old := s.create(t, 0)
	s.create(t, 1)
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.expectAdded(t, watchPods(t, s.clientset, s.namespace, old), 1)

	if err := s.APIServer().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	event, ok := watchPods(t, s.clientset, s.namespace, old).next(t)
	if !ok || event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("watch from a compacted version: %s, want ERROR 410 Expired", describe(event, ok))
	}
	_, err := s.clientset.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{
		ResourceVersion: old, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("list at exactly the compacted version: %v, want 410 Expired", err)
	}
}

// TestServerRestoresBackup checks that a restored collection has its former content, at a version
// lower than one that clients have received.
func TestServerRestoresBackup(t *testing.T) {
	s := newServerHarness(t)
	s.create(t, 0)
	backup, err := s.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		s.create(t, 1+i)
	}
	names, seen := s.names(t)
	if len(names) != 21 {
		t.Fatalf("%d Pods, want 21", len(names))
	}
	if err := s.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	names, now := s.names(t)
	if len(names) != 1 || names[0] != s.workload.Pod(0).Name {
		t.Errorf("Pods after the restore: %v, want only the first", names)
	}
	if now >= seen || now < backup.Revision {
		t.Errorf("the list after the restore is at %d, want less than %d, the version before it, and at least %d, the backup's",
			now, seen, backup.Revision)
	}
	// A list not older than a future version: the server waits for that version, and then fails.
	err = s.clientset.CoreV1().RESTClient().Get().Namespace(s.namespace).Resource("pods").
		Param("resourceVersion", fmt.Sprint(seen+1000)).MaxRetries(0).Do(t.Context()).Error()
	if !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("list not older than a future version: %v, want Too large resource version", err)
	}
}

// names returns the names of the Pods from a consistent read, and the version of the list.
func (s *serverHarness) names(t *testing.T) ([]string, int64) {
	t.Helper()
	list, err := s.clientset.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return names, version(t, list.ResourceVersion)
}
