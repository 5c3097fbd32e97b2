package faults_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// options returns the nth request's options, without the TimeoutSeconds, which is
// random.
func options(r *cachetest.Harness, n int) (options metav1.ListOptions, timeout time.Duration) {
	options = r.Requests()[n].Options
	if options.TimeoutSeconds != nil {
		timeout = time.Duration(*options.TimeoutSeconds) * time.Second
		options.TimeoutSeconds = nil
	}
	return options, timeout
}

// expectOptions requires a request's options to be exactly these: other people's tests
// compare them (consumers 7 and 8). A watch has a timeout between five and ten minutes
// besides, a list none.
func expectOptions(r *cachetest.Harness, n int, verb string, want metav1.ListOptions) {
	r.T.Helper()
	got, timeout := options(r, n)
	if diff := cmp.Diff(want, got); diff != "" || r.Requests()[n].Verb != verb {
		r.T.Errorf("request %d is a %s, want a %s; options (-want +got):\n%s", n, r.Requests()[n].Verb, verb, diff)
	}
	if verb == "watch" && (timeout < 5*time.Minute || timeout >= 10*time.Minute) || verb == "list" && timeout != 0 {
		r.T.Errorf("request %d, a %s, has the timeout %v", n, verb, timeout)
	}
}

func TestRequestOptions(t *testing.T) {
	cachetest.InBubble(t, func(r *cachetest.Harness) {
		expectOptions(r, 0, "list", metav1.ListOptions{ResourceVersion: "0", Limit: 500})
		expectOptions(r, 1, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		r.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		r.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		expectOptions(r, 2, "list", metav1.ListOptions{ResourceVersion: "4"})
		expectOptions(r, 3, "list", metav1.ListOptions{Limit: 500})
		expectOptions(r, 4, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
	})
}

func TestRequestOptionsOfAWatchList(t *testing.T) {
	yes := true
	byWatchList(t, func(r *cachetest.Harness) {
		expectOptions(r, 0, "watch", metav1.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		r.CloseWatches()
		cachetest.Advance(7 * time.Second)
		expectOptions(r, 1, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		r.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		expectOptions(r, 2, "watch", metav1.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, ResourceVersion: "4",
		})
	})
}

// Pages are asked for as the options say; the others of a list have the token and the
// limit, and no version.
func TestRequestOptionsOfPages(t *testing.T) {
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{PageSize: 2}, func(r *cachetest.Harness) {
		r.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		r.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(2 * time.Second)
		expectOptions(r, 0, "list", metav1.ListOptions{ResourceVersion: "0", Limit: 2})
		expectOptions(r, 2, "list", metav1.ListOptions{ResourceVersion: "4", Limit: 2})
		expectOptions(r, 3, "list", metav1.ListOptions{Limit: 2})
		token := r.Requests()[4].Options.Continue
		if token == "" {
			r.T.Fatal("the second page has no token")
		}
		expectOptions(r, 4, "list", metav1.ListOptions{Limit: 2, Continue: token})
		r.ExpectStored("a@2 b@3 c@4")
		if lists := r.Controller.Status().Lists; lists != 4 {
			r.T.Errorf("%d list requests counted, want 4", lists)
		}
	})
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{PageSize: -1}, func(r *cachetest.Harness) {
		expectOptions(r, 0, "list", metav1.ListOptions{ResourceVersion: "0"})
	})
}

// The watches of many informers do not end together.
func TestWatchTimeoutsDiffer(t *testing.T) {
	timeouts := make(map[time.Duration]bool)
	for range 5 {
		cachetest.InBubble(t, func(r *cachetest.Harness) {
			_, timeout := options(r, 1)
			timeouts[timeout] = true
		})
	}
	if len(timeouts) < 2 {
		t.Errorf("five watches have the timeouts %v", timeouts)
	}
}
