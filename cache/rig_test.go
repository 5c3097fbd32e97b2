package cache_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// rig is an informer of Pods on a fake server, inside a synctest bubble, with all
// that it says written down.
type rig struct {
	*fake.ListerWatcher[*corev1.Pod]
	t          *testing.T
	store      cache.Reader[*corev1.Pod]
	controller *cache.Controller

	mu     sync.Mutex // guards what follows
	events []string
	told   map[string]*corev1.Pod // what the handler would believe the collection to be
	errs   []error

	source  cache.ListerWatcher                     // the rig itself, unless a test has put another in between
	endless bool                                    // watches do not end by themselves
	own     cache.ResourceEventHandler[*corev1.Pod] // the rig's, unless a test has its own
	period  time.Duration                           // of the resync

	stop    context.CancelFunc
	stopped chan error
}

// inBubble runs a test with a running informer of three Pods a, b and c in namespace
// ns, at the versions 2, 3 and 4. At the end it checks what holds whatever has
// happened: handler and store agree, and a stop is prompt and final.
func inBubble(t *testing.T, test func(r *rig), before ...func(r *rig)) {
	t.Helper()
	withOptions(t, cache.ReflectorOptions{}, test, before...)
}

// withOptions is inBubble with options. before is called before the informer runs.
func withOptions(t *testing.T, options cache.ReflectorOptions, test func(r *rig), before ...func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, prepare := range before {
			prepare(r)
		}
		r.run(options)
		test(r)
		r.checkFold()
		r.checkStop()
	})
}

// Watch takes the timeout out of the request where watches are to be endless.
func (r *rig) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if r.endless {
		options.TimeoutSeconds = nil
	}
	return r.ListerWatcher.Watch(ctx, options)
}

// newRig returns a rig with three Pods whose informer does not run yet.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{ListerWatcher: fake.NewListerWatcher(&corev1.Pod{}), t: t, told: make(map[string]*corev1.Pod)}
	r.source, r.own = r, r.handler()
	for _, name := range []string{"a", "b", "c"} {
		r.Create(pod(name))
	}
	return r
}

func (r *rig) run(options cache.ReflectorOptions) {
	options.ErrorHandler = r.report
	r.store, r.controller = cache.NewInformerWithOptions(r.source, &corev1.Pod{}, r.period, r.own, options)
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop, r.stopped = cancel, make(chan error, 1)
	go func() { r.stopped <- r.controller.Run(ctx) }()
	synctest.Wait()
}

// reflect runs a reflector into a store instead of an informer, until stop.
func (r *rig) reflect(store cache.ReflectorStore[*corev1.Pod]) (stop func()) {
	reflector := cache.NewReflector(r.source, &corev1.Pod{}, store, cache.ReflectorOptions{ErrorHandler: r.report})
	ctx, cancel := context.WithCancel(r.t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- reflector.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-stopped; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}
}

// report is the ErrorHandler.
func (r *rig) report(_ context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// handler notes events as A name@version, U name@old→new and D name@last, and
// checks that each follows from the one before it.
func (r *rig) handler() cache.ResourceEventHandler[*corev1.Pod] {
	return cache.ResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { r.note("A", nil, pod) },
		UpdateFunc: func(before, pod *corev1.Pod) { r.note("U", before, pod) },
		DeleteFunc: func(pod *corev1.Pod) { r.note("D", pod, nil) },
	}
}

func (r *rig) note(verb string, before, after *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := after
	if latest == nil {
		latest = before
	}
	key := latest.Namespace + "/" + latest.Name
	told, known := r.told[key]
	if known != (verb != "A") {
		r.t.Errorf("event %s %s, known before: %v", verb, key, known)
	}
	if known && told.UID != latest.UID && told.UID != "" {
		r.t.Errorf("event %s %s is of %s, told was %s", verb, key, latest.UID, told.UID)
	}
	if verb == "U" && before != told {
		r.t.Errorf("update of %s from %s, told was %s", key, before.ResourceVersion, told.ResourceVersion)
	}
	switch verb {
	case "A":
		r.told[key] = after
		r.events = append(r.events, "A "+at(after))
	case "U":
		r.told[key] = after
		r.events = append(r.events, "U "+at(before)+"→"+after.ResourceVersion)
	case "D":
		delete(r.told, key)
		r.events = append(r.events, "D "+at(before))
	}
}

// checkFold requires the handler's belief to be the store's content.
func (r *rig) checkFold() {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if told, kept := describe(slices.Collect(maps.Values(r.told))), r.stored(); told != kept {
		r.t.Errorf("the handler was told [%s], the store holds [%s]", told, kept)
	}
}

// checkStop stops the informer, unless the test has, and requires Run to return
// within a second, and neither request nor call nor report to come after that.
func (r *rig) checkStop() {
	r.t.Helper()
	synctest.Wait()
	began, before := time.Now(), len(r.Requests())
	r.stop()
	select {
	case err := <-r.stopped:
		if err != nil {
			r.t.Errorf("Run returned %v after its context had ended", err)
		}
	case <-time.After(time.Minute):
		r.t.Fatal("Run has not returned a minute after its context has ended")
	}
	if took := time.Since(began); took > time.Second {
		r.t.Errorf("Run returned %v after its context had ended", took)
	}
	if late := r.Requests()[before:]; len(late) > 0 {
		r.t.Errorf("requests after the context had ended: %v", late)
	}
	requests, events, errs := len(r.Requests()), len(r.events), len(r.errs)
	r.CloseWatches()
	pass(time.Hour)
	if len(r.Requests()) != requests || len(r.events) != events || len(r.errs) != errs {
		r.t.Errorf("after Run returned: %d requests, %d events, %d errors", len(r.Requests())-requests, len(r.events)-events, len(r.errs)-errs)
	}
	if phase := r.controller.Status().Phase; phase != cache.PhaseStopped {
		r.t.Errorf("phase is %s after Run has returned", phase)
	}
}

// stored describes the store's content.
func (r *rig) stored() string { return describe(r.store.List()) }

// byTheTest is the mark of requests that are not the informer's.
const byTheTest = "metadata.name!=the-test-asks"

// Requests returns the informer's requests.
func (r *rig) Requests() []fake.Request {
	return slices.DeleteFunc(r.ListerWatcher.Requests(), func(q fake.Request) bool { return q.Options.FieldSelector == byTheTest })
}

// served describes the server's content.
func (r *rig) served() string {
	r.t.Helper()
	list, err := r.List(context.Background(), metav1.ListOptions{FieldSelector: byTheTest})
	if err != nil {
		r.t.Fatal(err)
	}
	var pods []*corev1.Pod
	for i := range list.(*corev1.PodList).Items {
		pods = append(pods, &list.(*corev1.PodList).Items[i])
	}
	return describe(pods)
}

// expectStored requires the store's content, such as "a@2 b@3".
func (r *rig) expectStored(want string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.stored(); got != want {
		r.t.Errorf("the store holds [%s], want [%s]", got, want)
	}
}

// expectEvents requires exactly these events since the last call.
func (r *rig) expectEvents(want ...string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.events, ", "); got != strings.Join(want, ", ") {
		r.t.Errorf("events [%s], want [%s]", got, strings.Join(want, ", "))
	}
	r.events = nil
}

// expectSynced requires the first three events and drops them.
func (r *rig) expectSynced() {
	r.t.Helper()
	r.expectEvents("A a@2", "A b@3", "A c@4")
	if !r.controller.HasSynced() {
		r.t.Error("not synced")
	}
}

// takeErrors returns what was reported since the last call.
func (r *rig) takeErrors() []error {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := r.errs
	r.errs = nil
	return errs
}

// expectError requires that of the errors reported since the last call one is as
// told, and that there are some.
func (r *rig) expectError(is func(error) bool) {
	r.t.Helper()
	errs := r.takeErrors()
	if !slices.ContainsFunc(errs, is) {
		r.t.Errorf("errors reported: %v", errs)
	}
}

func (r *rig) expectNoError() {
	r.t.Helper()
	if errs := r.takeErrors(); len(errs) > 0 {
		r.t.Errorf("errors reported: %v", errs)
	}
}

// requestsSince describes the requests from the nth on, as verb@version, with a
// plus for a WatchList, and how many there are now.
func (r *rig) requestsSince(n int) (string, int) {
	synctest.Wait()
	all := r.Requests()
	var words []string
	for _, request := range all[n:] {
		word := request.Verb + "@" + request.Options.ResourceVersion
		if request.Options.SendInitialEvents != nil {
			word += "+"
		}
		if request.Options.Continue != "" {
			word += "..."
		}
		words = append(words, word)
	}
	return strings.Join(words, " "), len(all)
}

// expectRequests requires exactly these requests from the nth on, and returns how
// many there are now.
func (r *rig) expectRequests(n int, want string) int {
	r.t.Helper()
	got, now := r.requestsSince(n)
	if got != want {
		r.t.Errorf("requests [%s], want [%s]", got, want)
	}
	return now
}

// expectRates requires that from some moment on no window of 60 seconds has had
// more than 12 requests or 4 lists, and that there was no standstill.
func (r *rig) expectRates(from time.Time) {
	r.t.Helper()
	requests := slices.DeleteFunc(r.Requests(), func(q fake.Request) bool { return q.Time.Before(from) })
	if len(requests) == 0 {
		r.t.Errorf("no request since %v", from)
	}
	for i, first := range requests {
		all, lists := 0, 0
		for _, q := range requests[i:] {
			if q.Time.Sub(first.Time) >= time.Minute {
				break
			}
			all++
			if q.Verb == "list" {
				lists++
			}
		}
		if all > 12 || lists > 4 {
			r.t.Errorf("%d requests and %d lists in the minute from %v", all, lists, first.Time.Sub(from))
			return
		}
	}
}

// updateEachSecond updates a for so many seconds, beside the test.
func (r *rig) updateEachSecond(n int) {
	go func() {
		for range n {
			<-time.After(time.Second)
			r.Update(pod("a"))
		}
	}()
}

// pass lets time go by in the bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// is returns what tells an error by errors.Is.
func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// says returns what tells an error by its text.
func says(text string) func(error) bool {
	return func(err error) bool { return err != nil && strings.Contains(err.Error(), text) }
}

func pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, e := range edit {
		e(p)
	}
	return p
}

func version(rv string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ResourceVersion = rv }
}

func label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

func at(pod *corev1.Pod) string { return pod.Name + "@" + pod.ResourceVersion }

// describe writes Pods as name@version in order.
func describe(pods []*corev1.Pod) string {
	words := make([]string, 0, len(pods))
	for _, p := range pods {
		words = append(words, at(p))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// selecting returns a list or watch function that asks by label.
func selecting[R any](selector string, request func(context.Context, metav1.ListOptions) (R, error)) func(context.Context, metav1.ListOptions) (R, error) {
	return func(ctx context.Context, options metav1.ListOptions) (R, error) {
		options.LabelSelector = selector
		return request(ctx, options)
	}
}
