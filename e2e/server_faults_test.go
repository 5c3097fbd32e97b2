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

// scene is a cluster of this test's own, with clients and a namespace.
type scene struct {
	*cluster.Cluster
	clientset *kubernetes.Clientset
	life      *objects.Life
	workload  *objects.Workload
	namespace string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	c := cluster.New(t, cluster.Options{})
	clientset := clientsetFor(t, c)
	ns := namespace(t, clientset)
	return &scene{c, clientset, objects.NewLife(clientset, seed), objects.NewWorkload(seed, 0, ns), ns}
}

// create makes the replica of that number and returns its resourceVersion.
func (s *scene) create(t *testing.T, replica int) string {
	t.Helper()
	pod, err := s.life.Create(t.Context(), s.workload.Pod(replica))
	if err != nil {
		t.Fatal(err)
	}
	return pod.ResourceVersion
}

// expectAdded reads the next event, which has to be the creation of the replica of that number.
func (s *scene) expectAdded(t *testing.T, w podWatch, replica int) {
	t.Helper()
	want := s.workload.Pod(replica).Name
	if kind, pod := w.pod(t); kind != watch.Added || pod.Name != want {
		t.Errorf("the watch gave %s of %s, want ADDED of %s", kind, pod.Name, want)
	}
}

func TestServerRestartsInMidWatch(t *testing.T) {
	for name, end := range map[string]func(*cluster.Server) error{"stopped": (*cluster.Server).Stop, "killed": (*cluster.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
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
			// A version from before the restart is often too old by now, if only because of writes to something else: the
			// server's memory of changes begins with its start. So a client has to be ready to list again.
			names, listed := s.names(t)
			if len(names) != 2 {
				t.Errorf("after the restart there are the Pods %v, want two", names)
			}
			s.create(t, 2)
			s.expectAdded(t, watchPods(t, s.clientset, s.namespace, fmt.Sprint(listed)), 2)
		})
	}
}

// The watch goes on over a restart of etcd: it is served from kube-apiserver's own cache, which finds etcd again.
func TestServerBearsARestartOfEtcd(t *testing.T) {
	for name, end := range map[string]func(*cluster.Server) error{"stopped": (*cluster.Server).Stop, "killed": (*cluster.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			last := s.create(t, 0)
			if err := end(s.Etcd()); err != nil {
				t.Fatal(err)
			}
			if err := s.Etcd().Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Requests fail until kube-apiserver has found etcd again.
			s.await(t, "a Pod can be created again", func(ctx context.Context) error {
				_, err := s.life.Create(ctx, s.workload.Pod(1))
				return err
			})
			s.expectAdded(t, watchPods(t, s.clientset, s.namespace, last), 1)
		})
	}
}

// await repeats what fails until it does not.
func (s *scene) await(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), patience/600, patience, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; at last: %v", what, err, last)
	}
}

// A watch of a version from before the compaction is answered with 410 Gone once the server's own memory begins after it.
func TestServerForgetsWhatWasCompacted(t *testing.T) {
	s := newScene(t)
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
		t.Errorf("a watch from before the compaction gave %s, want ERROR 410 Expired", describe(event, ok))
	}
	_, err := s.clientset.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{
		ResourceVersion: old, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a list at exactly the compacted version gave %v, want 410 Expired", err)
	}
}

// After a restore the collection is what it was, and its version is lower than one that clients have seen.
func TestServerGoesBackToABackup(t *testing.T) {
	s := newScene(t)
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
		t.Fatalf("there are %d Pods, want 21", len(names))
	}
	if err := s.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	names, now := s.names(t)
	if len(names) != 1 || names[0] != s.workload.Pod(0).Name {
		t.Errorf("after the restore there are the Pods %v, want the first alone", names)
	}
	if now >= seen || now < backup.Revision {
		t.Errorf("after the restore the list is at %d, want less than %d, which was seen, and no less than the backup's %d",
			now, seen, backup.Revision)
	}
	// Not older than a version that is not there any more: the server waits for it, then says so.
	err = s.clientset.CoreV1().RESTClient().Get().Namespace(s.namespace).Resource("pods").
		Param("resourceVersion", fmt.Sprint(seen+1000)).MaxRetries(0).Do(t.Context()).Error()
	if !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("a list not older than a version of the future gave %v, want Too large resource version", err)
	}
}

// names lists the Pods from etcd itself, and the version of the list.
func (s *scene) names(t *testing.T) ([]string, int64) {
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
