// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// startClient is a client of the Pods a, b and c, at versions 2, 3 and 4, that records its lists.
type startClient struct {
	server *fake.ListerWatcher[*corev1.Pod]
	// list, if set, changes the options and answers of lists, as another kind of server does.
	list func(options *metav1.ListOptions, answer func() (*corev1.PodList, error)) (*corev1.PodList, error)

	mu    sync.Mutex // guards lists
	lists []string
}

func (c *startClient) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	text := fmt.Sprintf("list@%s limit=%d", options.ResourceVersion, options.Limit)
	for _, selector := range []string{options.LabelSelector, options.FieldSelector} {
		if selector != "" {
			text += " " + selector
		}
	}
	c.mu.Lock()
	c.lists = append(c.lists, text)
	c.mu.Unlock()
	answer := func() (*corev1.PodList, error) {
		list, err := c.server.List(ctx, options)
		if err != nil {
			return nil, err
		}
		return list.(*corev1.PodList), nil
	}
	if c.list != nil {
		return c.list(&options, answer)
	}
	return answer()
}

func (c *startClient) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return c.server.Watch(ctx, options)
}

// TestStartOverKindsOfServers checks the first requests of an informer to servers of several kinds,
// and that it syncs with all of them.
func TestStartOverKindsOfServers(t *testing.T) {
	byName := cache.WithFieldSelector(fields.OneTermEqualSelector("metadata.name", "a"))
	byFields := cache.WithFieldSelector(fields.ParseSelectorOrDie("metadata.name=a,status.phase!=Running"))
	byLabel := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "rare"}))
	for name, c := range map[string]struct {
		any    bool
		modify []func(*metav1.ListOptions)
		list   func(*metav1.ListOptions, func() (*corev1.PodList, error)) (*corev1.PodList, error)
		want   []string
	}{
		"API server": {want: []string{"list@ limit=1", "list@4 limit=0"}},
		"any state":  {any: true, want: []string{"list@0 limit=500"}},
		"a label that few objects have": {
			modify: []func(*metav1.ListOptions){byLabel},
			want:   []string{"list@ limit=1", "list@4 limit=0 app=rare"},
		},
		"a Role with resourceNames": {
			modify: []func(*metav1.ListOptions){byName},
			list: func(options *metav1.ListOptions, answer func() (*corev1.PodList, error)) (*corev1.PodList, error) {
				if options.FieldSelector != "metadata.name=a" {
					return nil, fake.Forbidden()
				}
				return answer()
			},
			want: []string{"list@ limit=1 metadata.name=a", "list@4 limit=0 metadata.name=a"},
		},
		"a name and another field": {
			modify: []func(*metav1.ListOptions){byFields},
			want:   []string{"list@ limit=1 metadata.name=a", "list@4 limit=0 metadata.name=a,status.phase!=Running"},
		},
		"API server before 1.31, whose cache lacks the version of etcd": {
			list: func(options *metav1.ListOptions, answer func() (*corev1.PodList, error)) (*corev1.PodList, error) {
				if options.ResourceVersion != "" {
					return nil, fake.TooLargeResourceVersion()
				}
				return answer()
			},
			want: []string{"list@ limit=1", "list@4 limit=0", "list@ limit=500"},
		},
		"aggregated API without versions": {
			list: func(_ *metav1.ListOptions, answer func() (*corev1.PodList, error)) (*corev1.PodList, error) {
				list, err := answer()
				list.ResourceVersion = ""
				return list, err
			},
			want: []string{"list@ limit=1", "list@ limit=500"},
		},
		"aggregated API without pages": {
			list: ignoreLimit,
			want: []string{"list@ limit=1", "list@4 limit=0"},
		},
		"aggregated API without pages, and a label": {
			modify: []func(*metav1.ListOptions){byLabel},
			list:   ignoreLimit,
			want:   []string{"list@ limit=1", "list@4 limit=0 app=rare"},
		},
		"aggregated API without pages and versions": {
			list: func(options *metav1.ListOptions, answer func() (*corev1.PodList, error)) (*corev1.PodList, error) {
				list, err := ignoreLimit(options, answer)
				list.ResourceVersion = ""
				return list, err
			},
			want: []string{"list@ limit=1", "list@ limit=500"},
		},
		"no limit accepted": {
			list: func(options *metav1.ListOptions, answer func() (*corev1.PodList, error)) (*corev1.PodList, error) {
				if options.Limit == 1 {
					return nil, fake.Forbidden()
				}
				return answer()
			},
			want: []string{"list@ limit=1", "list@ limit=500"},
		},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			client := &startClient{server: cachetest.New(t).ListerWatcher, list: c.list}
			pods := cache.NewSharedInformer(cache.ListWatchOf(client, c.modify...), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{StartAny: c.any})
			start(t, pods)
			synctest.Wait()
			if !pods.HasSynced() || !slices.Equal(client.lists, c.want) {
				t.Errorf("requests %q, synced %v, want %q", client.lists, pods.HasSynced(), c.want)
			}
		})
	}
}

// TestAnswerToTheProbeIsTheFirstList reads from a server that ignores limit, with streaming: what
// it sends to a probe with the selectors of the informer is the first list, and no other object
// reaches the program.
func TestAnswerToTheProbeIsTheFirstList(t *testing.T) {
	f := cachetest.Formats["protobuf"]
	whole := f.Nodes("3", cachetest.Node("a", "1"), cachetest.Node("b", "2"))
	for name, c := range map[string]struct {
		modify []func(*metav1.ListOptions)
		probe  []byte // the answer
		lists  int
	}{
		"all objects":               {nil, whole, 1},
		"a label":                   {[]func(*metav1.ListOptions){byRareLabel}, whole, 2},
		"an answer with one object": {nil, f.Nodes("3", cachetest.Node("x", "1")), 2},
	} {
		t.Run(name, func(t *testing.T) {
			var lists atomic.Int32
			counted := func(list http.HandlerFunc) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					lists.Add(1)
					list(w, r)
				}
			}
			s := cachetest.NewScript(t, []http.HandlerFunc{counted(cachetest.Serve(f.ListType, c.probe)), counted(cachetest.Serve(f.ListType, whole))}, nil)
			s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
			config := s.Config()
			cache.EnableStreaming(config)
			lw := cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes(), c.modify...)
			var seen sync.Map // the names that Transform receives
			nodes := cache.NewSharedInformer(lw, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{
				Transform: func(node *corev1.Node) (*corev1.Node, error) {
					seen.Store(node.Name, nil)
					return node, nil
				},
			})
			start(t, nodes)
			if err := nodes.WaitForSync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, ok := seen.Load("x"); ok || nodes.Store().Len() != 2 || int(lists.Load()) != c.lists || !nodes.Status().Requests.Streaming {
				t.Errorf("%d nodes after %d lists, want 2 after %d; Transform has received x: %v", nodes.Store().Len(), lists.Load(), c.lists, ok)
			}
		})
	}
}

func byRareLabel(options *metav1.ListOptions) { options.LabelSelector = "app=rare" }

// TestJoinedAnswersToTheProbeAreNoList has a list function that joins the lists of two clients, and
// drops their continue tokens.
func TestJoinedAnswersToTheProbeAreNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := cachetest.New(t).ListerWatcher, cachetest.New(t).ListerWatcher
		lw := &cache.ListWatch{
			ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				joined := &corev1.PodList{}
				for n, client := range []*startClient{{server: one}, {server: two}} {
					list, err := client.List(ctx, options)
					if err != nil {
						return nil, err
					}
					for i := range list.Items {
						list.Items[i].Namespace = fmt.Sprint(n)
					}
					joined.ResourceVersion, joined.Items = list.ResourceVersion, append(joined.Items, list.Items...)
				}
				return joined, nil
			},
			WatchFunc: one.Watch,
		}
		pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		start(t, pods)
		synctest.Wait()
		if n := pods.Store().Len(); n != 6 || !pods.HasSynced() {
			t.Errorf("%d Pods, synced %v, want 6", n, pods.HasSynced())
		}
	})
}

// ignoreLimit answers as a server that ignores limit.
func ignoreLimit(options *metav1.ListOptions, answer func() (*corev1.PodList, error)) (*corev1.PodList, error) {
	options.Limit = 0
	return answer()
}

// TestInformersOfAFactoryShareProbes starts informers of one resource, each of other objects, with
// a server that ignores limit and with one that does not.
func TestInformersOfAFactoryShareProbes(t *testing.T) {
	const informers = 20
	type answer = func() (*corev1.PodList, error)
	slow := func(_ *metav1.ListOptions, answer answer) (*corev1.PodList, error) {
		<-time.After(time.Second) // in the bubble
		return answer()
	}
	for name, test := range map[string]struct {
		list   func(*metav1.ListOptions, answer) (*corev1.PodList, error)
		probes int
	}{
		"API server": {slow, 2}, // of one informer, and of one of those that start meanwhile
		"aggregated API without pages": {func(options *metav1.ListOptions, answer answer) (*corev1.PodList, error) {
			options.Limit = 0
			return slow(options, answer)
		}, 2},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			client := &startClient{server: cachetest.New(t).ListerWatcher, list: test.list}
			factory := cache.NewFactory(cache.FactoryOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan error, 1)
			for n := range informers {
				byLabel := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"team": fmt.Sprint(n)}))
				if _, err := cache.InformerFor(factory, cache.ListWatchOf(client, byLabel).InNamespace("ns"), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{}); err != nil {
					t.Fatal(err)
				}
			}
			go func() { stopped <- factory.Run(ctx) }()
			<-time.After(time.Minute)
			client.mu.Lock()
			probes := 0
			for _, list := range client.lists {
				if list == "list@ limit=1" {
					probes++
				}
			}
			if lists := len(client.lists) - probes; !factory.HasSynced() || lists != informers || probes == 0 || probes > test.probes {
				t.Errorf("%d probes and %d lists, synced %v, want at most %d and %d: %q", probes, lists, factory.HasSynced(), test.probes, informers, client.lists)
			}
			client.mu.Unlock()
			cancel()
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestScopesStartWithOneProbe checks that the scopes of an informer are listed not older than one
// version, which one of them has asked for in its namespace.
func TestScopesStartWithOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &startClient{server: cachetest.New(t).ListerWatcher}
		scopes := cache.NewScopes(cache.Scope{Namespace: "ns"}, cache.Scope{Namespace: "other"})
		lw := cache.ListWatchByNamespace(func(string) *startClient { return client })
		pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: scopes})
		start(t, pods)
		synctest.Wait()
		if got, want := strings.Join(client.lists, ", "), "list@ limit=1, list@4 limit=0, list@4 limit=0"; got != want || !pods.HasSynced() {
			t.Errorf("requests [%s], synced %v, want [%s]", got, pods.HasSynced(), want)
		}
	})
}
