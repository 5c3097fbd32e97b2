package cache_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// options returns the nth request's options, without the TimeoutSeconds, which is
// random.
func (r *rig) options(n int) (options metav1.ListOptions, timeout time.Duration) {
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
func (r *rig) expectOptions(n int, verb string, want metav1.ListOptions) {
	r.t.Helper()
	got, timeout := r.options(n)
	if diff := cmp.Diff(want, got); diff != "" || r.Requests()[n].Verb != verb {
		r.t.Errorf("request %d is a %s, want a %s; options (-want +got):\n%s", n, r.Requests()[n].Verb, verb, diff)
	}
	if verb == "watch" && (timeout < 5*time.Minute || timeout >= 10*time.Minute) || verb == "list" && timeout != 0 {
		r.t.Errorf("request %d, a %s, has the timeout %v", n, verb, timeout)
	}
}

func TestRequestOptions(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.expectOptions(0, "list", metav1.ListOptions{ResourceVersion: "0", Limit: 500})
		r.expectOptions(1, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		r.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		r.Send(fake.ErrorEvent(fake.Expired()))
		pass(2 * time.Second)
		r.expectOptions(2, "list", metav1.ListOptions{ResourceVersion: "4"})
		r.expectOptions(3, "list", metav1.ListOptions{Limit: 500})
		r.expectOptions(4, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
	})
}

func TestRequestOptionsOfAWatchList(t *testing.T) {
	yes := true
	byWatchList(t, func(r *rig) {
		r.expectOptions(0, "watch", metav1.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		r.CloseWatches()
		pass(7 * time.Second)
		r.expectOptions(1, "watch", metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		r.Send(fake.ErrorEvent(fake.Expired()))
		pass(2 * time.Second)
		r.expectOptions(2, "watch", metav1.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, ResourceVersion: "4",
		})
	})
}

// Pages are asked for as the options say; the others of a list have the token and the
// limit, and no version.
func TestRequestOptionsOfPages(t *testing.T) {
	withOptions(t, cache.ReflectorOptions{PageSize: 2}, func(r *rig) {
		r.InjectListFault(1, fake.Fault{Err: fake.Expired()})
		r.Send(fake.ErrorEvent(fake.Expired()))
		pass(2 * time.Second)
		r.expectOptions(0, "list", metav1.ListOptions{ResourceVersion: "0", Limit: 2})
		r.expectOptions(2, "list", metav1.ListOptions{ResourceVersion: "4", Limit: 2})
		r.expectOptions(3, "list", metav1.ListOptions{Limit: 2})
		token := r.Requests()[4].Options.Continue
		if token == "" {
			r.t.Fatal("the second page has no token")
		}
		r.expectOptions(4, "list", metav1.ListOptions{Limit: 2, Continue: token})
		r.expectStored("a@2 b@3 c@4")
		if lists := r.controller.Status().Lists; lists != 4 {
			r.t.Errorf("%d list requests counted, want 4", lists)
		}
	})
	withOptions(t, cache.ReflectorOptions{PageSize: -1}, func(r *rig) {
		r.expectOptions(0, "list", metav1.ListOptions{ResourceVersion: "0"})
	})
}

// The watches of many informers do not end together.
func TestWatchTimeoutsDiffer(t *testing.T) {
	timeouts := make(map[time.Duration]bool)
	for range 5 {
		inBubble(t, func(r *rig) {
			_, timeout := r.options(1)
			timeouts[timeout] = true
		})
	}
	if len(timeouts) < 2 {
		t.Errorf("five watches have the timeouts %v", timeouts)
	}
}
