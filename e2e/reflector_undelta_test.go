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

// The kubelet's way: of all Pods those of one node, by the field selector spec.nodeName, and at each change the full set.
// A Pod comes when it is bound to the node.
func TestReflectorPushesTheFullSetOfANodesPods(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{true, false} {
		for _, sync := range []cache.ListMode{cache.ListModeList, cache.ListModeWatchList} {
			t.Run(wayOf(streaming)+" by "+string(sync), func(t *testing.T) { pushNodesPods(t, streaming, sync) })
		}
	}
}

func pushNodesPods(t *testing.T, streaming bool, sync cache.ListMode) {
	t.Helper()
	c := shared(t)
	clientset := clientsetFor(t, c)
	ns := namespace(t, clientset)
	here := &nodesPods{podsOf: podsOf{clientset, objects.NewLife(clientset, seed), ns, "here-" + ns}, now: map[string]state{}}
	elsewhere := podsOf{clientset, here.life, ns, "elsewhere-" + ns}
	for i := range 5 {
		here.run(t, i)
		elsewhere.runAll(t, 100+i)
	}
	here.sets = here.sets[len(here.sets)-1:] // what there is comes as one set

	s := newSubject("kubelet's reflector", streaming, c)
	pushed := &pushes{changed: make(chan struct{})}
	store := cache.NewUndeltaStore(pushed.push, cache.MetaNamespaceKeyFunc[*corev1.Pod])
	lw := cache.NewListWatchFromClient(kubernetes.NewForConfigOrDie(s.connect(c)).CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", here.node))
	reflector := cache.NewReflector(lw, &corev1.Pod{}, store, cache.ReflectorOptions{ListMode: sync, ErrorHandler: s.errors.add})
	s.version, s.content = reflector.LastSyncResourceVersion, contentOf(store)
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
			t.Fatalf("push %d of %d is not the set after change %d of %d: %s", i, len(got), i, len(here.sets), difference(set, here.sets[i]))
		}
	}
	if content := s.content(); !maps.Equal(content, here.now) {
		t.Errorf("the store is not what was pushed: %s", difference(content, here.now))
	}
	await(t, "the reflector is in order", func(ctx context.Context) error { return s.inOrder(ctx, here.now) })
	if heard := s.errors.list(); len(heard) > 0 {
		t.Errorf("there were errors: %v", heard)
	}
}

// pushes are the sets that an UndeltaStore pushed.
type pushes struct {
	mu      sync.Mutex
	sets    []map[string]state
	changed chan struct{}
}

// marked is the version of a Pod in a set that has a deletionTimestamp: who deletes it does not learn that version.
const marked = "marked"

func (p *pushes) push(pods []*corev1.Pod) {
	set := map[string]state{}
	for _, pod := range pods {
		set[keyOf(pod)] = stateOf(pod)
		if pod.DeletionTimestamp != nil {
			set[keyOf(pod)] = state{pod.UID, marked}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sets = append(p.sets, set)
	close(p.changed)
	p.changed = make(chan struct{})
}

// await returns all sets once there are so many.
func (p *pushes) await(t *testing.T, n int) []map[string]state {
	t.Helper()
	timeout := time.NewTimer(patience)
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
			t.Fatalf("%d sets were pushed within %s, want %d", len(sets), patience, n)
		}
	}
}

// podsOf are Pods that live on a node.
type podsOf struct {
	clientset       kubernetes.Interface
	life            *objects.Life
	namespace, node string
}

func (p podsOf) pod(number int) *corev1.Pod {
	return objects.NewWorkload(seed, number, p.namespace).Pod(0)
}

// runAll takes a Pod through all steps to running.
func (p podsOf) runAll(t *testing.T, number int) {
	t.Helper()
	if _, err := p.life.Run(t.Context(), p.pod(number), p.node); err != nil {
		t.Fatal(err)
	}
}

// nodesPods are the Pods of a node, and the sets of them after each change.
type nodesPods struct {
	podsOf
	now  map[string]state
	sets []map[string]state
}

// run takes a Pod to running and notes the three states that it has on the node.
func (p *nodesPods) run(t *testing.T, number int) {
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
		p.note(keyOf(pod), stateOf(pod))
	}
}

// delete removes a Pod, in two states: marked for deletion, and gone.
func (p *nodesPods) delete(t *testing.T, number int) {
	t.Helper()
	pod := p.pod(number)
	if err := p.life.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	p.note(keyOf(pod), state{p.now[keyOf(pod)].uid, marked})
	p.note(keyOf(pod), state{version: gone})
}

func (p *nodesPods) note(key string, s state) {
	p.now[key] = s
	if s.version == gone {
		delete(p.now, key)
	}
	p.sets = append(p.sets, maps.Clone(p.now))
}
