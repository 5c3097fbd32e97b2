// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// isJoined reports whether a request is for several ranges that are not adjacent.
func isJoined(options metav1.ListOptions) bool { return strings.Contains(options.ShardSelector, "||") }

// joinServer is a server that knows shard selectors. Its watches are made by a function.
type joinServer struct {
	*fake.ListerWatcher[*corev1.ConfigMap]
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func (s *joinServer) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(ctx, options)
}

// runJoining runs a test with a scoped informer of ranges(0, 4), whose server has bookmarks at a
// time, none if that is zero.
func runJoining(t *testing.T, bookmarks time.Duration, test func(i *scopedInformer, server *joinServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &joinServer{ListerWatcher: fake.NewListerWatcher(&corev1.ConfigMap{})}
		server.watch = server.ListerWatcher.Watch
		server.SetShardedListAndWatch(true)
		if bookmarks > 0 {
			server.BookmarkEvery(bookmarks)
		}
		i := &scopedInformer{t: t, server: server.ListerWatcher, scopes: cache.NewScopes(ranges(0, 4)...)}
		for n := range 50 {
			i.server.Create(configMap(fmt.Sprintf("a/%02d", n)))
		}
		i.SharedInformer = cache.NewSharedInformer(server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: i.scopes})
		if _, err := i.AddBatchHandler(i.record, cache.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		start(t, i)
		if err := i.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(i, server)
	})
}

// requests returns the numbers of requests of the informer, also of those that are refused.
func (i *scopedInformer) requests() (lists, watches uint64) {
	status := i.Status()
	return status.Requests.Lists, status.Requests.Watches
}

// updateAll updates all objects, and checks that each is delivered once if it is in a range.
func (i *scopedInformer) updateAll(from, to uint64) {
	i.t.Helper()
	i.takeEvents()
	var want []string
	for n := range 50 {
		key := fmt.Sprintf("a/%02d", n)
		i.server.Update(configMap(key))
		if at := i.sixteenth(key); at >= from && at < to && (at < 4 || at >= 8) {
			want = append(want, "Update "+key)
		}
	}
	i.expect(want...)
}

// A server that has too old versions for every joined watch costs no former one anything.
func TestRefusedJoinsCostFewRequests(t *testing.T) {
	for _, advances := range []bool{true, false} {
		t.Run(fmt.Sprintf("versions advance: %v", advances), func(t *testing.T) {
			runJoining(t, time.Minute, func(i *scopedInformer, server *joinServer) {
				var joins, ended atomic.Int64
				server.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
					if isJoined(options) {
						joins.Add(1)
						return nil, fake.Expired()
					}
					context.AfterFunc(ctx, func() { ended.Add(1) })
					return server.ListerWatcher.Watch(ctx, options)
				}
				_ = i.scopes.Add(ranges(8, 12)...)
				synctest.Wait()
				lists, _ := i.requests()
				<-time.After(4 * time.Minute) // watches last 5 minutes at least
				if n := ended.Load(); n != 0 {
					i.t.Errorf("%d watches were ended", n)
				}
				for range 56 * 6 {
					if advances {
						i.server.Update(configMap("a/00"))
					}
					<-time.After(10 * time.Second)
				}
				now, watches := i.requests()
				i.t.Logf("%d joins, %d watches", joins.Load(), watches)
				if now != lists {
					i.t.Errorf("%d lists were made", now-lists)
				}
				limit := int64(8) // after 0.5, 1, 2, 4, 8, 16 and 30 minutes
				if !advances {
					limit = 1
				}
				if n := joins.Load(); n == 0 || n > limit || advances && n < limit-2 {
					i.t.Errorf("%d joins, want up to %d", n, limit)
				}
				i.updateAll(0, 12)
			})
		})
	}
}

// A replica of a sharded program takes its slots one after another. An event proves that a joined
// watch works, so that the next one may follow.
func TestManySlotsAreTaken(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy server: %v", busy), func(t *testing.T) {
			runJoining(t, time.Minute, func(i *scopedInformer, _ *joinServer) {
				_ = i.scopes.Set()
				synctest.Wait()
				lists, watches := i.requests()
				for n := range uint64(32) {
					slot := cache.HashRange{Field: cache.HashUID, First: n << 59, Last: n<<59 + (1<<59 - 1)}
					if err := i.scopes.Add(cache.Scope{Hash: slot}); err != nil {
						i.t.Fatal(err)
					}
					for range 5 {
						<-time.After(6 * time.Second / 32 / 5)
						if busy {
							i.server.Update(configMap("a/00"))
						}
					}
				}
				<-time.After(4 * time.Minute)
				nowLists, nowWatches := i.requests()
				i.t.Logf("%d lists, %d watches", nowLists-lists, nowWatches-watches)
				if nowLists-lists > 32 || nowWatches-watches > 32+2 {
					i.t.Errorf("%d lists, %d watches", nowLists-lists, nowWatches-watches)
				}
				if n := i.server.OpenWatches(); n != 1 {
					i.t.Errorf("%d watches are open, want 1", n)
				}
			})
		})
	}
}

// A joined watch that receives nothing works if it is open for 10 s. One that is not open does not.
func TestJoinedWatchThatReceivesNothing(t *testing.T) {
	runJoining(t, 0, func(i *scopedInformer, server *joinServer) {
		server.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if isJoined(options) {
				<-time.After(20 * time.Second)
			}
			return server.ListerWatcher.Watch(ctx, options)
		}
		_ = i.scopes.Add(ranges(8, 12)...)
		for _, step := range []struct {
			after time.Duration
			want  int
		}{
			{19 * time.Second, 2},
			{9 * time.Second, 3},
			{4 * time.Second, 1},
		} {
			<-time.After(step.after)
			synctest.Wait()
			if n := i.server.OpenWatches(); n != step.want {
				i.t.Errorf("%d watches are open, want %d", n, step.want)
			}
		}
		i.updateAll(0, 12)
	})
}

// A watch that opens before the loop looks must stay open as long.
func TestJoinedWatchThatOpensAtOnceMustStayOpen(t *testing.T) {
	runJoining(t, 0, func(i *scopedInformer, _ *joinServer) {
		_ = i.scopes.Add(ranges(8, 12)...)
		for _, step := range []struct {
			after time.Duration
			want  int
		}{
			{0, 3},
			{9 * time.Second, 3},
			{2 * time.Second, 1},
		} {
			<-time.After(step.after)
			synctest.Wait()
			if n := i.server.OpenWatches(); n != step.want {
				i.t.Errorf("%v later, %d watches are open, want %d", step.after, n, step.want)
			}
		}
	})
}

// stuckWatch is a watch whose Stop blocks.
type stuckWatch struct {
	watch.Interface
	released <-chan struct{}
}

func (w stuckWatch) Stop() {
	<-w.released
	w.Interface.Stop()
}

// A watch that does not end is replaced all the same: what it brings is dropped.
func TestJoinWhileAFormerWatchDoesNotEnd(t *testing.T) {
	runJoining(t, time.Minute, func(i *scopedInformer, server *joinServer) {
		released := make(chan struct{})
		server.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := server.ListerWatcher.Watch(context.WithoutCancel(ctx), options)
			if !isJoined(options) && err == nil {
				w = stuckWatch{w, released}
			}
			return w, err
		}
		_ = i.scopes.Add(ranges(8, 12)...)
		<-time.After(2 * time.Minute)
		i.updateAll(0, 12)
		if n := i.server.OpenWatches(); n != 2 {
			i.t.Errorf("%d watches are open, want the joined one and one that does not end", n)
		}
		lists, _ := i.requests()
		close(released)
		<-time.After(2 * time.Minute)
		i.updateAll(0, 12)
		if now, _ := i.requests(); now != lists {
			i.t.Errorf("%d lists were made", now-lists)
		}
	})
}

// A range that is removed before the joined watch works leaves, and the others are joined.
func TestRangeIsRemovedWhileItIsJoined(t *testing.T) {
	runJoining(t, 0, func(i *scopedInformer, _ *joinServer) {
		_ = i.scopes.Add(ranges(8, 12, 14, 16)...)
		<-time.After(5 * time.Second)
		_ = i.scopes.Remove(ranges(14, 16)...)
		synctest.Wait()
		i.takeEvents()
		before := len(i.server.Requests())
		i.updateAll(0, 12) // proves the joined watch
		<-time.After(2 * time.Second)
		if n := i.server.OpenWatches(); n != 1 {
			i.t.Errorf("%d watches are open, want 1", n)
		}
		i.updateAll(0, 12)
		if n := len(i.requestsSince(before, "watch")); n != 0 {
			i.t.Errorf("%d watches were made within 10 s", n)
		}
		<-time.After(15 * time.Second)
		i.updateAll(0, 12)
		<-time.After(time.Second)
		if watches := i.requestsSince(before, "watch"); len(watches) != 1 || strings.Count(watches[0].ShardSelector, "shardRange") != 2 {
			i.t.Errorf("watches %+v, want one of two ranges", watches)
		}
	})
}

// What the former watches have received is compared with the lists of the joined one: a server that
// was restored from a backup may have assigned a version again.
func TestJoinedWatchInheritsTheHistory(t *testing.T) {
	runJoining(t, time.Minute, func(i *scopedInformer, _ *joinServer) {
		key := ""
		for n := range 50 {
			if at := i.sixteenth(fmt.Sprintf("a/%02d", n)); at < 4 {
				key = fmt.Sprintf("a/%02d", n)
			}
		}
		backup := i.server.ResourceVersion()
		before := i.server.Update(configMap(key, "epoch=lost")).ResourceVersion
		synctest.Wait()
		_ = i.scopes.Add(ranges(8, 12)...)
		<-time.After(2 * time.Minute)
		if n := i.server.OpenWatches(); n != 1 {
			i.t.Fatalf("%d watches are open, want 1", n)
		}
		i.server.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		i.server.Restore(backup)
		if after := i.server.Update(configMap(key, "epoch=new")).ResourceVersion; after != before {
			i.t.Fatalf("version %s, want %s again", after, before)
		}
		i.server.SkipVersions(500)
		<-time.After(10 * time.Minute)
		if obj, _ := i.Store().GetByKey(key); obj.Labels["epoch"] != "new" {
			i.t.Errorf("the store has %v", obj.Labels)
		}
	})
}
