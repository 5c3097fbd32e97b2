// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// fakeProgram is a test of a program that has an informer on a fake of client-go.
type fakeProgram struct {
	Source   string // see fakeSources
	Fixtures []fakeStep
	Writes   []fakeWrite // by the handler
	Steps    []fakeStep
}

// fakeStep writes an object: it is created or changed, or removed. The version is the one that the
// test gives it, which a fake keeps.
type fakeStep struct {
	Key     string
	Version string `json:",omitempty"`
	Remove  bool   `json:",omitempty"`
	Expire  bool   `json:",omitempty"` // ends the watch with 410 instead, after the writes of the next steps are listed
}

// fakeWrite is a write that the handler makes once, when it receives the addition of On.
type fakeWrite struct {
	On string
	fakeStep
}

func (p fakeProgram) String() string { return mustJSON(p) }

// fakeVersions are what tests write into their objects: nothing, or a number that need not grow.
var fakeVersions = map[string]func(n int) string{
	"missing": func(int) string { return "" },
	"fixed":   func(int) string { return "7" },
	"falling": func(n int) string { return formatVersion(uint64(1000 - n)) },
	"rising":  func(n int) string { return formatVersion(uint64(10 + n)) },
	"mixed":   func(n int) string { return []string{"", "5", "9", "5", "", "1", "20"}[n%7] },
}

var fakeKeys = []string{"ns/a", "ns/b", "ns/c"}

// drawFake draws a program.
func drawFake(t *rapid.T) fakeProgram {
	p := fakeProgram{Source: rapid.SampledFrom(sortedKeys(fakeSources)).Draw(t, "source")}
	version := fakeVersions[rapid.SampledFrom(sortedKeys(fakeVersions)).Draw(t, "versions")]
	n, key := rapid.IntRange(0, 6).Draw(t, "first version"), rapid.SampledFrom(fakeKeys)
	write := func(t *rapid.T) fakeStep {
		n++
		return fakeStep{Key: key.Draw(t, "key"), Version: version(n), Remove: rapid.IntRange(0, 3).Draw(t, "remove") == 3}
	}
	for _, key := range fakeKeys {
		if rapid.Bool().Draw(t, "fixture") {
			n++
			p.Fixtures = append(p.Fixtures, fakeStep{Key: key, Version: version(n)})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "writes of the handler") {
		p.Writes = append(p.Writes, fakeWrite{On: key.Draw(t, "on"), fakeStep: write(t)})
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		s := write(t)
		if _, ok := fakeSources[p.Source]().(expiring); ok && rapid.IntRange(0, 9).Draw(t, "expire") == 9 {
			s = fakeStep{Expire: true}
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

// fakeSubjects are the informers that run a program. The first is client-go's.
var fakeSubjects = []struct {
	name string
	run  func(ctx context.Context, f fakeSource, r *fakeRecorder) (read func() []any)
}{
	{"client-go", func(ctx context.Context, f fakeSource, r *fakeRecorder) func() []any {
		return runClientGo(ctx, clientcache.NewSharedIndexInformer(f.listerWatcher(), f.example(), 0, clientcache.Indexers{}), r)
	}},
	{"clientgo", func(ctx context.Context, f fakeSource, r *fakeRecorder) func() []any {
		options := clientgo.Options{RelistUpdates: true}
		return runClientGo(ctx, options.NewInformer(f.listerWatcher(), f.example(), 0, clientcache.Indexers{}), r)
	}},
	{"cache", func(ctx context.Context, f fakeSource, r *fakeRecorder) func() []any {
		if example, ok := f.example().(*unstructured.Unstructured); ok {
			return runTypedInformer(ctx, f.listerWatcher(), example, r)
		}
		return runTypedInformer(ctx, f.listerWatcher(), &corev1.Pod{}, r)
	}},
}

func runClientGo(ctx context.Context, informer clientcache.SharedIndexInformer, r *fakeRecorder) func() []any {
	_, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { r.record("ADD", nil, obj) },
		UpdateFunc: func(old, obj any) { r.record("UPD", old, obj) },
		DeleteFunc: func(obj any) { r.record("DEL", nil, obj) },
	})
	if err != nil {
		panic(err)
	}
	go informer.RunWithContext(ctx)
	return informer.GetStore().List
}

// typedFake is a fake for package cache. Like the fakes that it reads, it does not support
// WatchList.
type typedFake struct {
	clientcache.ListerWatcherWithContext
}

func (f typedFake) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return f.ListWithContext(ctx, options)
}

func (f typedFake) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(ctx, options)
}

func (typedFake) IsWatchListSemanticsUnSupported() bool { return true }

// runTypedInformer runs an informer of package cache.
func runTypedInformer[T cache.Object](ctx context.Context, lw clientcache.ListerWatcher, example T, r *fakeRecorder) func() []any {
	source := typedFake{clientcache.ToListerWatcherWithContext(lw)}
	informer := cache.NewSharedInformer(cache.ListerWatcher(source), example, cache.InformerOptions[T]{Logger: logr.Discard()})
	handler := cache.EventHandlerFunc[T](func(e cache.Event[T]) {
		switch e.Type {
		case cache.EventAdd:
			r.record("ADD", nil, e.New)
		case cache.EventUpdate:
			r.record("UPD", e.Old, e.New)
		default:
			r.record("DEL", nil, e.Final)
		}
	})
	if _, err := informer.AddEventHandler(handler, cache.HandlerOptions{}); err != nil {
		panic(err)
	}
	go func() { _ = informer.Run(ctx) }()
	return func() (objects []any) {
		for _, obj := range informer.Store().List() {
			objects = append(objects, obj)
		}
		return objects
	}
}

// fakeRecorder is the handler. It also writes.
type fakeRecorder struct {
	source fakeSource
	// waits makes a handler write once the watch is open. client-go loses earlier writes in some
	// runs.
	waits bool

	mu     sync.Mutex // guards the fields below
	writes []fakeWrite
	lines  []string
}

func describeFake(obj any) string {
	if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	o, err := apimeta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s/%s@%s=%s", o.GetNamespace(), o.GetName(), o.GetResourceVersion(), o.GetLabels()["value"])
}

// record records an event, unless it is an update without a difference: a relist of client-go, and
// with RelistUpdates the adapter's, delivers those.
func (r *fakeRecorder) record(kind string, old, obj any) {
	text := kind + " "
	if old != nil {
		if describeFake(old) == describeFake(obj) {
			return
		}
		text += describeFake(old) + " to "
	}
	text += describeFake(obj)
	r.mu.Lock()
	r.lines = append(r.lines, text)
	var due []fakeWrite
	r.writes = slices.DeleteFunc(r.writes, func(w fakeWrite) bool {
		isDue := kind == "ADD" && strings.HasPrefix(text, "ADD "+w.On+"@")
		if isDue {
			due = append(due, w)
		}
		return isDue
	})
	r.mu.Unlock()
	for _, w := range due {
		if r.waits {
			<-time.After(100 * time.Millisecond) // of the bubble
		}
		r.write(w.fakeStep)
	}
}

// write writes to the source. A watcher that the informer has stopped panics.
func (r *fakeRecorder) write(s fakeStep) {
	defer func() {
		if v := recover(); v != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.lines = append(r.lines, fmt.Sprintf("the write of %v panics: %v", s, v))
		}
	}()
	if s.Expire {
		r.source.(expiring).expire()
		return
	}
	r.source.write(s)
}

// keyOfLine returns the key in a line of a fakeRecorder, or "" for other lines.
func keyOfLine(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	key, _, found := strings.Cut(rest, "@")
	if !found {
		return ""
	}
	return key
}

// runFake runs a program with a subject, and returns what the handler received and the store at the
// end.
func runFake(t *testing.T, p fakeProgram, subject int) (lines []string) {
	t.Helper()
	hung := time.AfterFunc(patience, func() { panic("this program hangs: " + p.String()) })
	defer hung.Stop()
	synctest.Test(t, func(t *testing.T) {
		f := fakeSources[p.Source]()
		for _, s := range p.Fixtures {
			f.fixture(s)
		}
		r := &fakeRecorder{source: f, waits: subject == 0, writes: slices.Clone(p.Writes)}
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
		read := fakeSubjects[subject].run(ctx, f, r)
		settle := func() {
			<-time.After(2 * time.Second) // of the bubble; the initial list is delivered
			synctest.Wait()
		}
		settle()
		for _, s := range p.Steps {
			if r.write(s); s.Expire {
				<-time.After(2 * time.Minute) // the backoff
			}
			settle()
		}
		objects := read()
		r.mu.Lock()
		lines = slices.Clone(r.lines)
		r.mu.Unlock()
		slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(keyOfLine(a), keyOfLine(b)) })
		var stored []string
		for _, obj := range objects {
			stored = append(stored, describeFake(obj))
		}
		slices.Sort(stored)
		lines = append(lines, fmt.Sprintf("store %v", stored))
		cancel()
		<-time.After(time.Minute)
	})
	return lines
}

// withoutUnstored returns the lines of a fakeRecorder, sorted by key, without the deletions of
// objects that were not delivered before.
func withoutUnstored(lines []string) []string {
	exists := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		key, isDeletion := keyOfLine(line), strings.HasPrefix(line, "DEL ")
		unstored := isDeletion && !exists[key]
		exists[key] = !isDeletion
		return unstored
	})
}

// TestInformersOfFakesFollowClientGo runs random tests of programs on client-go's fakes, which do
// not count versions. Handlers receive the same events of each object, in the same order, from
// client-go's informer, the adapter's and package cache's, and the stores are equal at the end.
// Package cache delivers no deletion of an object that it has not delivered.
func TestInformersOfFakesFollowClientGo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawFake(r)
		want := runFake(t, p, 0)
		for subject := 1; subject < len(fakeSubjects); subject++ {
			if fakeSubjects[subject].name == "cache" {
				want = withoutUnstored(want)
			}
			if got := runFake(t, p, subject); !slices.Equal(got, want) {
				r.Fatalf("%v\n%s:\n  %s\n%s:\n  %s", p, fakeSubjects[subject].name, strings.Join(got, "\n  "), fakeSubjects[0].name, strings.Join(want, "\n  "))
			}
		}
	})
}

// fakeObjects are the objects of a test, and how often it has written.
type fakeObjects struct {
	mu      sync.Mutex
	writes  int
	objects map[string]*corev1.Pod
}

// pod returns the Pod of a write.
func (o *fakeObjects) pod(s fakeStep) (pod *corev1.Pod, existed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		o.objects = make(map[string]*corev1.Pod)
	}
	o.writes++
	before, existed := o.objects[s.Key]
	if s.Remove {
		delete(o.objects, s.Key)
		return before, existed
	}
	pod = newFakePod(s, o.writes)
	o.objects[s.Key] = pod
	return pod, existed
}

// absent returns a Pod that does not exist.
func (o *fakeObjects) absent(s fakeStep) *corev1.Pod {
	o.mu.Lock()
	defer o.mu.Unlock()
	return newFakePod(s, o.writes)
}

func newFakePod(s fakeStep, write int) *corev1.Pod {
	namespace, name, _ := strings.Cut(s.Key, "/")
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, ResourceVersion: s.Version, Labels: map[string]string{"value": fmt.Sprint(write)},
		},
	}
}

func (o *fakeObjects) all() (list *corev1.PodList) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list = &corev1.PodList{}
	for _, key := range slices.Sorted(maps.Keys(o.objects)) {
		list.Items = append(list.Items, *o.objects[key])
		list.ResourceVersion = o.objects[key].ResourceVersion // of any object, as tests do
	}
	return list
}
