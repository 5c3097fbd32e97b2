// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	fakeclient "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/fake"
)

// lines is a timeline's output.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// expect reads lines until one contains all of the texts.
func (l lines) expect(t *testing.T, texts ...string) {
	t.Helper()
	expired := time.After(time.Minute)
	for {
		select {
		case line := <-l:
			missing := 0
			for _, text := range texts {
				if !strings.Contains(line, text) {
					missing++
				}
			}
			if missing == 0 {
				return
			}
		case <-expired:
			t.Fatalf("no line with %q", texts)
		}
	}
}

// startController starts a controller that acts.
func startController(t *testing.T, server *fake.APIServer) (kubernetes.Interface, lines) {
	t.Helper()
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	printed := make(lines, 1000)
	c, err := newController(client, "default", newTimeline(printed), true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return client, printed
}

// TestOrphanIsDeleted deletes a ReplicaSet while its Pod is being created. The first request that
// deletes the Pod fails.
func TestOrphanIsDeleted(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	creating, release := make(chan struct{}, 1), make(chan struct{})
	server.InjectFault(1, func(request fake.APIRequest) bool {
		found := request.Resource == "pods" && request.Verb == "create"
		if found {
			creating <- struct{}{}
		}
		return found
	}, fake.Fault{Hold: release})
	ofDelete := func(request fake.APIRequest) bool { return request.Resource == "pods" && request.Verb == "delete" }
	server.InjectFault(1, ofDelete, fake.Fault{Err: errors.New("injected")})

	client, printed := startController(t, server)
	sets := client.AppsV1().ReplicaSets("default")
	labels := map[string]string{"app": "web"}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	set.Spec.Template.Labels = labels
	if _, err := sets.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-creating
	if err := sets.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	printed.expect(t, "saw", "ReplicaSet web gone")
	close(release)
	printed.expect(t, "did", "delete Pod web-")
}

// TestPodOfUnstoredReplicaSetIsKept checks that Pods are no orphans if only the informer lacks
// their ReplicaSet.
func TestPodOfUnstoredReplicaSetIsKept(t *testing.T) {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1"}}
	client := fakeclient.NewClientset(set, pod)
	c := &controller{client: client, timeline: newTimeline(make(lines, 10))}
	for uid, deleted := range map[types.UID]bool{"1": false, "2": true} {
		client.ClearActions()
		if err := c.deleteOrphans(t.Context(), owner{"default", "web", uid}, []*corev1.Pod{pod}); err != nil {
			t.Fatal(err)
		}
		if actions := client.Actions(); deleted != (len(actions) == 2) {
			t.Errorf("owner of UID %s: %d requests; deleted: %t, want %t", uid, len(actions), !deleted, deleted)
		}
	}
}

// TestStuckAttemptIsMadeAgain checks that an attempt ends, and that the queue has its key again.
func TestStuckAttemptIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		attempts := 0
		w := newWorker("test", func(ctx context.Context, _ string) error {
			if attempts++; attempts == 2 {
				cancel()
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		w.queue.Add("key")
		if err := w.Run(ctx); err != nil || attempts != 2 {
			t.Errorf("Run returned %v after %d attempts, want 2", err, attempts)
		}
	})
}
