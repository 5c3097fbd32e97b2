// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// writtenAt returns an edit of a Pod that says when it was written.
func writtenAt(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		at := metav1.Unix(seconds, 0)
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, Time: &at}}
	}
}

// editItems returns a fault that edits the items of a list.
func editItems(edit func(*corev1.Pod)) fake.Fault {
	return fake.Fault{EditList: func(list runtime.Object) runtime.Object {
		pods := list.DeepCopyObject().(*corev1.PodList)
		for i := range pods.Items {
			edit(&pods.Items[i])
		}
		return pods
	}}
}

func keepKinds(p *corev1.Pod) { p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"} }

// informerOptions are those in which a Pod is stored in another way.
var informerOptions = map[string]cache.InformerOptions[*corev1.Pod]{
	"live":                {},
	"packed":              {Packed: true},
	"equal parts shared":  {ShareEqual: true},
	"fields omitted":      {OmitFields: []string{"metadata.managedFields"}},
	"packed and omitted":  {Packed: true, OmitFields: []string{"metadata.managedFields"}},
	"transformed":         {Transform: func(p *corev1.Pod) (*corev1.Pod, error) { p.ManagedFields = nil; return p, nil }},
	"initial events":      {WatchList: true},
	"every update wanted": {PageSize: 1},
}

// TestKindOfItemsIsNoUpdate lists after a 410 objects that carry apiVersion and kind, as custom
// resources do in lists. Typed clients clear them in events. There is one list, and no update.
func TestKindOfItemsIsNoUpdate(t *testing.T) {
	for name, options := range informerOptions {
		for written, edit := range map[string]func(*corev1.Pod){"with managedFields": writtenAt(1000), "without": func(*corev1.Pod) {}} {
			t.Run(name+"/"+written, func(t *testing.T) {
				runPods(t, options, func(h *cachetest.Harness, pods *podInformer) {
					h.Update(cachetest.Pod("a", edit))
					h.Create(cachetest.Pod("d", edit))
					cachetest.Advance(time.Second)
					received := pods.updates
					lists := wholeLists(h.Requests())
					h.InjectListFault(-1, editItems(keepKinds))
					h.TruncateWatchCache()
					h.SkipVersions(100)
					h.InjectWatchFault(2, fake.Fault{Err: fake.Expired()})
					h.CloseWatches()
					cachetest.Advance(10 * time.Minute)
					if n := pods.updates; n != received {
						t.Errorf("%d updates, want none", n-received)
					}
					if n := wholeLists(h.Requests()) - lists; n > 1 && !options.WatchList && options.PageSize == 0 {
						t.Errorf("%d lists, want one", n)
					}
				})
			})
		}
	}
}

// TestConsistentReadUpdatesOnlyOtherWrites restores a server, so that the contents of all objects
// are compared, while the answering server shows a label on each of them that the last one did not.
// Only the object that was written again is an update.
func TestConsistentReadUpdatesOnlyOtherWrites(t *testing.T) {
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{"live": {}, "packed": {Packed: true}, "equal parts shared": {ShareEqual: true}} {
		t.Run(name, func(t *testing.T) {
			runPods(t, options, func(h *cachetest.Harness, pods *podInformer) {
				for _, pod := range []string{"a", "b", "c"} {
					h.Update(cachetest.Pod(pod, writtenAt(1000))) // 5 to 7
				}
				cachetest.Advance(time.Second)
				h.Update(cachetest.Pod("a", writtenAt(2000))) // 8
				cachetest.Advance(time.Second)
				received := pods.updates
				h.Restore("7")
				h.Update(cachetest.Pod("a", writtenAt(3000))) // 8
				h.InjectListFault(-1, editItems(cachetest.WithLabel("added", "by another server")))
				cachetest.Advance(10 * time.Second)
				if n := pods.updates; n != received+1 {
					t.Errorf("%d updates, want one", n-received)
				}
			})
		})
	}
}

// TestRestoreBetweenTwoMinorsIsFound restores etcd behind two API servers, one of which shows a
// label on each object that the other does not. The versions pass those that were lost, or not.
func TestRestoreBetweenTwoMinorsIsFound(t *testing.T) {
	for name, rewrite := range map[string]func(h *cachetest.Harness){
		"nothing is written":         func(*cachetest.Harness) {},
		"versions stay below":        func(h *cachetest.Harness) { h.Update(cachetest.Pod("b", writtenAt(5000))) },
		"a version is used again":    func(h *cachetest.Harness) { h.Update(cachetest.Pod("c", writtenAt(5000))); h.SkipVersions(50) },
		"the same object is written": func(h *cachetest.Harness) { h.Update(cachetest.Pod("a", writtenAt(5000))); h.SkipVersions(50) },
		"the newest is deleted":      func(h *cachetest.Harness) { h.Delete("ns/a"); h.SkipVersions(50) },
	} {
		for storage, options := range map[string]cache.InformerOptions[*corev1.Pod]{"live": {}, "packed": {Packed: true}, "managedFields omitted": {OmitFields: []string{"metadata.managedFields"}}} {
			t.Run(name+"/"+storage, func(t *testing.T) {
				runPods(t, options, func(h *cachetest.Harness, pods *podInformer) {
					newer := false // the server that answers
					show := func(p *corev1.Pod) {
						if newer {
							metav1.SetMetaDataLabel(&p.ObjectMeta, "added", "by the newer server")
						}
					}
					h.InjectListFault(-1, editItems(show))
					h.InjectWatchFault(-1, fake.Fault{EditEvent: func(event watch.Event) []watch.Event {
						if pod, ok := event.Object.DeepCopyObject().(*corev1.Pod); ok && event.Type != watch.Bookmark {
							show(pod)
							event.Object = pod
						}
						return []watch.Event{event}
					}})
					for n := range 4 {
						newer = !newer
						h.CloseWatches()
						cachetest.Advance(time.Second)
						h.Update(cachetest.Pod("a", writtenAt(int64(1000+n)))) // 5 to 8
						cachetest.Advance(time.Second)
					}
					lists := wholeLists(h.Requests())
					newer = !newer
					h.Restore("6")
					rewrite(h)
					cachetest.Advance(10 * time.Second)
					if n := wholeLists(h.Requests()) - lists; n != 1 {
						t.Errorf("%d lists within 10 s, want one", n)
					}
					if got, want := cachetest.Describe(pods.Store().List()), h.Served(); got != want {
						t.Errorf("the store has %s, the server %s", got, want)
					}
				})
			})
		}
	}
}

// podInformer is an informer that counts the updates that it delivers.
type podInformer struct {
	*cache.SharedInformer[*corev1.Pod]
	updates int
}

// runPods runs a test in a bubble with an informer of a harness's Pods.
func runPods(t *testing.T, options cache.InformerOptions[*corev1.Pod], test func(h *cachetest.Harness, pods *podInformer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		options.ErrorHandler = h.Report
		pods := &podInformer{SharedInformer: cache.NewSharedInformer(cache.ListWatchOf(podClient{h}), &corev1.Pod{}, options)}
		_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { pods.updates++ }}, cache.HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- pods.Run(ctx) }()
		cachetest.Advance(time.Second)
		test(h, pods)
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
