// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/objects"
)

// TestUndeltaStorePushesAllPodsOfNode watches Pods as the kubelet does: the field selector
// spec.nodeName selects the Pods of one node, and each change pushes all of them. A Pod is added
// when it is bound to the node.
func TestUndeltaStorePushesAllPodsOfNode(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{true, false} {
		for _, watchList := range []bool{false, true} {
			t.Run(modeName(streaming)+" by "+listName(watchList), func(t *testing.T) { testPushes(t, streaming, watchList) })
		}
	}
}

func testPushes(t *testing.T, streaming, watchList bool) {
	t.Helper()
	c := shared(t)
	clientset := clientsetFor(t, c)
	ns := namespace(t, clientset)
	here := &nodePods{podsOnNode: podsOnNode{clientset, objects.NewLife(clientset, seed), ns, "here-" + ns}, current: map[string]state{}}
	elsewhere := podsOnNode{clientset, here.life, ns, "elsewhere-" + ns}
	for i := range 5 {
		here.run(t, i)
		elsewhere.runAll(t, 100+i)
	}
	here.sets = here.sets[len(here.sets)-1:] // the initial list is pushed as one set

	s := newSubject("kubelet's reflector", streaming, c)
	pushed := &pushes{changed: make(chan struct{})}
	store := cache.NewUndeltaStore(pushed.push, cache.MetaNamespaceKeyFunc[*corev1.Pod])
	lw := cache.NewListWatchFromClient(kubernetes.NewForConfigOrDie(s.connect(c)).CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", here.node))
	reflector := cache.NewReflector(lw, &corev1.Pod{}, store, cache.ReflectorOptions{WatchList: watchList, ErrorHandler: s.errors.add})
	s.version, s.content = reflector.LastSyncResourceVersion, contentOf(store.Reader)
	s.start(t, reflector.Run)
	pushed.await(t, 1)

	for i := range 20 {
		elsewhere.runAll(t, 200+i)
		here.run(t, 10+i)
		if i%2 == 0 {
			here.delete(t, 10+i)
		}
	}
	here.delete(t, 0)
	got := pushed.await(t, len(here.sets))
	for i, set := range got {
		if i >= len(here.sets) || !maps.Equal(set, here.sets[i]) {
			t.Fatalf("push %d of %d differs from the set after change %d of %d: %s", i, len(got), i, len(here.sets), difference(set, here.sets[i]))
		}
	}
	if content := s.content(); !maps.Equal(content, here.current) {
		t.Errorf("the store differs from the pushed set: %s", difference(content, here.current))
	}
	await(t, "the reflector is up to date", func(ctx context.Context) error { return s.checkStatus(ctx, here.current) })
	if errs := s.errors.list(); len(errs) > 0 {
		t.Errorf("unexpected errors: %v", errs)
	}
}

// pushes records the sets that an UndeltaStore pushed.
type pushes struct {
	mu      sync.Mutex
	sets    []map[string]state
	changed chan struct{}
}

// terminating stands for the version of a Pod with a deletionTimestamp: a client that deletes the
// Pod does not receive that version.
const terminating = "marked"

func (p *pushes) push(pods []*corev1.Pod) {
	set := map[string]state{}
	for _, pod := range pods {
		set[keyOf(pod)] = stateOf(pod)
		if pod.DeletionTimestamp != nil {
			set[keyOf(pod)] = state{pod.UID, terminating}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sets = append(p.sets, set)
	close(p.changed)
	p.changed = make(chan struct{})
}

// await returns all sets once there are at least n.
func (p *pushes) await(t *testing.T, n int) []map[string]state {
	t.Helper()
	timeout := time.NewTimer(waitTimeout)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		sets, changed := slices.Clone(p.sets), p.changed
		p.mu.Unlock()
		if len(sets) >= n {
			return sets
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("%d sets were pushed within %s, want %d", len(sets), waitTimeout, n)
		}
	}
}

// podsOnNode creates Pods of a node.
type podsOnNode struct {
	clientset       kubernetes.Interface
	life            *objects.Life
	namespace, node string
}

func (p podsOnNode) pod(number int) *corev1.Pod {
	return objects.NewWorkload(seed, number, p.namespace).Pod(0)
}

// runAll runs a Pod: it is created, bound, annotated and reported running.
func (p podsOnNode) runAll(t *testing.T, number int) {
	t.Helper()
	if _, err := p.life.Run(t.Context(), p.pod(number), p.node); err != nil {
		t.Fatal(err)
	}
}

// nodePods is the Pods of a node, and the set of them after each change.
type nodePods struct {
	podsOnNode
	current map[string]state
	sets    []map[string]state
}

// run runs a Pod and records its three states on the node.
func (p *nodePods) run(t *testing.T, number int) {
	t.Helper()
	pod, err := p.life.Create(t.Context(), p.pod(number))
	steps := []func() (*corev1.Pod, error){
		func() (*corev1.Pod, error) {
			if err := p.life.Bind(t.Context(), pod, p.node); err != nil {
				return nil, err
			}
			return p.clientset.CoreV1().Pods(p.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		},
		func() (*corev1.Pod, error) {
			return p.life.Annotate(t.Context(), pod, "e2e.example.com/step", "network")
		},
		func() (*corev1.Pod, error) { return p.life.ReportRunning(t.Context(), pod) },
	}
	for _, step := range steps {
		if err == nil {
			pod, err = step()
		}
		if err != nil {
			t.Fatal(err)
		}
		p.record(keyOf(pod), stateOf(pod))
	}
}

// delete deletes a Pod and records two states: terminating, and deleted.
func (p *nodePods) delete(t *testing.T, number int) {
	t.Helper()
	pod := p.pod(number)
	if err := p.life.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	p.record(keyOf(pod), state{p.current[keyOf(pod)].uid, terminating})
	p.record(keyOf(pod), state{version: gone})
}

func (p *nodePods) record(key string, s state) {
	p.current[key] = s
	if s.version == gone {
		delete(p.current, key)
	}
	p.sets = append(p.sets, maps.Clone(p.current))
}
