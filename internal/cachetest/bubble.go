package cachetest

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

// Harness is an informer of Pods on a fake server, inside a synctest bubble. It records events,
// errors and requests. The fields above mu may be set before Run.
type Harness struct {
	*fake.ListerWatcher[*corev1.Pod]

	T *testing.T
	// Source is what the informer lists and watches; the harness itself by default.
	Source cache.ListerWatcher
	// KeepWatchesOpen removes the timeout from watch requests, so that the server never closes them.
	KeepWatchesOpen bool
	// Handler is the informer's handler; the one that records events by default.
	Handler      cache.EventHandler[*corev1.Pod]
	ResyncPeriod time.Duration

	Store      cache.Reader[*corev1.Pod]
	Controller *Informer[*corev1.Pod]
	Stop       context.CancelFunc // ends Run's context
	stopped    chan error

	mu        sync.Mutex // guards the fields below
	events    []string
	delivered map[string]*corev1.Pod // the collection according to the delivered events
	errs      []error
}

// InBubble runs a test with a running informer of the Pods a, b and c in namespace ns, at the
// versions 2, 3 and 4. After the test it checks that handler and store agree, and that the informer
// stops promptly and for good.
func InBubble(t *testing.T, test func(r *Harness), before ...func(r *Harness)) {
	t.Helper()
	InBubbleWithOptions(t, cache.ReflectorOptions{}, test, before...)
}

// InBubbleWithOptions is InBubble with options. before is called before the informer runs.
func InBubbleWithOptions(t *testing.T, options cache.ReflectorOptions, test func(r *Harness), before ...func(r *Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := New(t)
		for _, prepare := range before {
			prepare(r)
		}
		r.Run(options)
		test(r)
		r.CheckHandlerState()
		r.CheckStop()
	})
}

// Watch opens a watch, without a timeout if KeepWatchesOpen is set.
func (r *Harness) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if r.KeepWatchesOpen {
		options.TimeoutSeconds = nil
	}
	return r.ListerWatcher.Watch(ctx, options)
}

// New returns a harness with the Pods a, b and c. Its informer is not running.
func New(t *testing.T) *Harness {
	t.Helper()
	r := &Harness{ListerWatcher: fake.NewListerWatcher(&corev1.Pod{}), T: t, delivered: make(map[string]*corev1.Pod)}
	r.Source, r.Handler = r, r.RecordingHandler()
	for _, name := range []string{"a", "b", "c"} {
		r.Create(Pod(name))
	}
	return r
}

// Run makes the informer and runs it until Stop.
func (r *Harness) Run(options cache.ReflectorOptions) {
	options.ErrorHandler = r.Report
	r.Store, r.Controller = NewInformer(r.Source, &corev1.Pod{}, r.ResyncPeriod, r.Handler, options)
	ctx, cancel := context.WithCancel(r.T.Context())
	r.Stop, r.stopped = cancel, make(chan error, 1)
	go func() { r.stopped <- r.Controller.Run(ctx) }()
	synctest.Wait()
}

// Stopped returns the channel that receives the result of the informer's Run.
func (r *Harness) Stopped() <-chan error { return r.stopped }

// RunReflector runs a reflector that writes to store instead of an informer, until stop.
func (r *Harness) RunReflector(store cache.ReflectorStore[*corev1.Pod]) (stop func()) {
	reflector := cache.NewReflector(r.Source, &corev1.Pod{}, store, cache.ReflectorOptions{ErrorHandler: r.Report})
	ctx, cancel := context.WithCancel(r.T.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- reflector.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-stopped; err != nil {
			r.T.Errorf("Run: %v", err)
		}
	}
}

// Report is an ErrorHandler that records errors.
func (r *Harness) Report(_ context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// RecordingHandler records events as "A name@version", "U name@old→new" and "D name@last", and checks
// that each event is legal after the previous one of its object.
func (r *Harness) RecordingHandler() cache.EventHandler[*corev1.Pod] {
	return cache.ResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { r.record("A", nil, pod) },
		UpdateFunc: func(before, pod *corev1.Pod) { r.record("U", before, pod) },
		DeleteFunc: func(pod *corev1.Pod) { r.record("D", pod, nil) },
	}
}

func (r *Harness) record(verb string, before, after *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := after
	if latest == nil {
		latest = before
	}
	key := latest.Namespace + "/" + latest.Name
	last, known := r.delivered[key]
	if known != (verb != "A") {
		r.T.Errorf("event %s %s, known before: %v", verb, key, known)
	}
	if known && last.UID != latest.UID && last.UID != "" {
		r.T.Errorf("event %s %s is of %s, last delivered %s", verb, key, latest.UID, last.UID)
	}
	if verb == "U" && before != last {
		r.T.Errorf("update of %s from %s, last delivered %s", key, before.ResourceVersion, last.ResourceVersion)
	}
	switch verb {
	case "A":
		r.delivered[key] = after
		r.events = append(r.events, "A "+NameAtVersion(after))
	case "U":
		r.delivered[key] = after
		r.events = append(r.events, "U "+NameAtVersion(before)+"→"+after.ResourceVersion)
	case "D":
		delete(r.delivered, key)
		r.events = append(r.events, "D "+NameAtVersion(before))
	}
}

// CheckHandlerState checks that the delivered events add up to the store's content.
func (r *Harness) CheckHandlerState() {
	r.T.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if delivered, stored := Describe(slices.Collect(maps.Values(r.delivered))), r.Stored(); delivered != stored {
		r.T.Errorf("the delivered events add up to [%s], the store holds [%s]", delivered, stored)
	}
}

// CheckStop stops the informer, unless the test has, and checks that Run returns within a second and
// that no request, event or error follows.
func (r *Harness) CheckStop() {
	r.T.Helper()
	synctest.Wait()
	began, before := time.Now(), len(r.Requests())
	r.Stop()
	select {
	case err := <-r.stopped:
		if err != nil {
			r.T.Errorf("Run returned %v after its context had ended", err)
		}
	case <-time.After(time.Minute):
		r.T.Fatal("Run has not returned a minute after its context has ended")
	}
	if took := time.Since(began); took > time.Second {
		r.T.Errorf("Run returned %v after its context had ended", took)
	}
	if late := r.Requests()[before:]; len(late) > 0 {
		r.T.Errorf("requests after the context had ended: %v", late)
	}
	requests, events, errs := len(r.Requests()), len(r.events), len(r.errs)
	r.CloseWatches()
	Advance(time.Hour)
	if len(r.Requests()) != requests || len(r.events) != events || len(r.errs) != errs {
		r.T.Errorf("after Run returned: %d requests, %d events, %d errors", len(r.Requests())-requests, len(r.events)-events, len(r.errs)-errs)
	}
	if phase := r.Controller.Status().Phase; phase != cache.PhaseStopped {
		r.T.Errorf("phase is %s after Run has returned", phase)
	}
}

// Stored describes the store's content.
func (r *Harness) Stored() string { return Describe(r.Store.List()) }

// testSelector marks requests of the test, as opposed to the informer's.
const testSelector = "metadata.name!=the-test-asks"

// Requests returns the informer's requests.
func (r *Harness) Requests() []fake.Request {
	return slices.DeleteFunc(r.ListerWatcher.Requests(), func(q fake.Request) bool { return q.Options.FieldSelector == testSelector })
}

// Served describes the server's content.
func (r *Harness) Served() string {
	r.T.Helper()
	list, err := r.List(context.Background(), metav1.ListOptions{FieldSelector: testSelector})
	if err != nil {
		r.T.Fatal(err)
	}
	var pods []*corev1.Pod
	for i := range list.(*corev1.PodList).Items {
		pods = append(pods, &list.(*corev1.PodList).Items[i])
	}
	return Describe(pods)
}

// ExpectStored checks the store's content, such as "a@2 b@3".
func (r *Harness) ExpectStored(want string) {
	r.T.Helper()
	synctest.Wait()
	if got := r.Stored(); got != want {
		r.T.Errorf("the store holds [%s], want [%s]", got, want)
	}
}

// ExpectEvents checks the events since its last call.
func (r *Harness) ExpectEvents(want ...string) {
	r.T.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.events, ", "); got != strings.Join(want, ", ") {
		r.T.Errorf("events [%s], want [%s]", got, strings.Join(want, ", "))
	}
	r.events = nil
}

// ExpectSynced checks the events of the initial list.
func (r *Harness) ExpectSynced() {
	r.T.Helper()
	r.ExpectEvents("A a@2", "A b@3", "A c@4")
	if !r.Controller.HasSynced() {
		r.T.Error("not synced")
	}
}

// TakeErrors returns the errors reported since its last call.
func (r *Harness) TakeErrors() []error {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := r.errs
	r.errs = nil
	return errs
}

// ExpectError checks that an error for which is returns true was reported since the last call.
func (r *Harness) ExpectError(is func(error) bool) {
	r.T.Helper()
	errs := r.TakeErrors()
	if !slices.ContainsFunc(errs, is) {
		r.T.Errorf("errors reported: %v", errs)
	}
}

// ExpectNoError checks that no error was reported since the last call.
func (r *Harness) ExpectNoError() {
	r.T.Helper()
	if errs := r.TakeErrors(); len(errs) > 0 {
		r.T.Errorf("errors reported: %v", errs)
	}
}

// RequestsSince describes the requests from the nth on as "verb@version", with a plus sign for a
// WatchList, and returns the number of all requests.
func (r *Harness) RequestsSince(n int) (string, int) {
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

// ExpectRequests checks the requests from the nth on and returns the number of all requests.
func (r *Harness) ExpectRequests(n int, want string) int {
	r.T.Helper()
	got, now := r.RequestsSince(n)
	if got != want {
		r.T.Errorf("requests [%s], want [%s]", got, want)
	}
	return now
}

// ExpectRates checks that there were requests after from, and at most 12 requests and 4 lists in any
// 60 seconds.
func (r *Harness) ExpectRates(from time.Time) {
	r.T.Helper()
	requests := slices.DeleteFunc(r.Requests(), func(q fake.Request) bool { return q.Time.Before(from) })
	if len(requests) == 0 {
		r.T.Errorf("no request since %v", from)
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
			r.T.Errorf("%d requests and %d lists in the minute from %v", all, lists, first.Time.Sub(from))
			return
		}
	}
}

// UpdateEverySecond updates Pod a once a second, n times, in the background.
func (r *Harness) UpdateEverySecond(n int) {
	go func() {
		for range n {
			<-time.After(time.Second)
			r.Update(Pod("a"))
		}
	}()
}

// Advance lets d pass in the bubble and blocks until all goroutines are idle.
func Advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// ErrorIs returns a predicate for errors.Is(err, target).
func ErrorIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// ErrorContains returns a predicate for errors whose text contains text.
func ErrorContains(text string) func(error) bool {
	return func(err error) bool { return err != nil && strings.Contains(err.Error(), text) }
}

// Pod returns a Pod in namespace ns.
func Pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, e := range edit {
		e(p)
	}
	return p
}

// WithVersion sets a Pod's resourceVersion.
func WithVersion(rv string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ResourceVersion = rv }
}

// WithLabel sets a Pod's only label.
func WithLabel(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

// NameAtVersion returns "name@resourceVersion".
func NameAtVersion(pod *corev1.Pod) string { return pod.Name + "@" + pod.ResourceVersion }

// Describe lists Pods as name@resourceVersion, sorted.
func Describe(pods []*corev1.Pod) string {
	words := make([]string, 0, len(pods))
	for _, p := range pods {
		words = append(words, NameAtVersion(p))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// WithSelector returns a list or watch function that selects by label.
func WithSelector[R any](selector string, request func(context.Context, metav1.ListOptions) (R, error)) func(context.Context, metav1.ListOptions) (R, error) {
	return func(ctx context.Context, options metav1.ListOptions) (R, error) {
		options.LabelSelector = selector
		return request(ctx, options)
	}
}
