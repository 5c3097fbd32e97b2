// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// server is a fake server of Pods that implements client-go's ListerWatcher. The first Pod has
// resourceVersion 2.
type server struct {
	*fake.ListerWatcher[*corev1.Pod]

	onWatch func(*metav1.ListOptions) // changes the options of watch requests, if set
}

var _ clientcache.ListerWatcherWithContext = (*server)(nil)

func newServer(names ...string) *server {
	s := &server{ListerWatcher: fake.NewListerWatcher(&corev1.Pod{})}
	for _, name := range names {
		s.Create(cachetest.Pod(name))
	}
	return s
}

func (s *server) listWatch() *clientcache.ListWatch {
	return &clientcache.ListWatch{ListWithContextFunc: s.ListWithContext, WatchFuncWithContext: s.WatchWithContext}
}

func (s *server) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

func (s *server) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *server) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.ListerWatcher.List(ctx, options)
}

func (s *server) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if s.onWatch != nil {
		s.onWatch(&options)
	}
	return s.ListerWatcher.Watch(ctx, options)
}

// verbs returns a letter for each request so far: l for a list, w for a watch, W for a WatchList.
func (s *server) verbs() string {
	var verbs []byte
	for _, request := range s.Requests() {
		switch {
		case request.Verb == "list":
			verbs = append(verbs, 'l')
		case request.Options.SendInitialEvents != nil:
			verbs = append(verbs, 'W')
		default:
			verbs = append(verbs, 'w')
		}
	}
	return string(verbs)
}

// sendExpired ends the watch with an ERROR event of reason Expired, after which the informer
// relists.
func (s *server) sendExpired() {
	expired := apierrors.NewResourceExpired("gone")
	s.Send(watch.Event{Type: watch.Error, Object: &expired.ErrStatus})
}

// relist makes the informer relist.
func (s *server) relist() {
	s.sendExpired()
	cachetest.Advance(2 * time.Minute)
}

// relistAfter calls change while no watch is open, and then makes the informer relist.
func (s *server) relistAfter(change func()) {
	hold := make(chan struct{})
	s.InjectWatchFault(1, fake.Fault{Hold: hold, Err: apierrors.NewResourceExpired("gone")})
	s.CloseWatches()
	cachetest.Advance(time.Minute)
	change()
	close(hold)
	cachetest.Advance(2 * time.Minute)
}

// scriptedServer is an empty collection at version 1 with a watch whose events the test sends.
type scriptedServer struct {
	noWatchList
	*clientcache.ListWatch

	stream atomic.Pointer[watch.FakeWatcher] // of the next watch
}

func newScriptedServer() *scriptedServer {
	s := &scriptedServer{}
	s.stream.Store(watch.NewFake())
	s.ListWatch = &clientcache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return s.stream.Load(), nil },
	}
	return s
}

func (s *scriptedServer) send(event watch.EventType, obj runtime.Object) {
	s.stream.Load().Action(event, obj)
}

// closeWatch ends the watch. Later events go to the next one.
func (s *scriptedServer) closeWatch() { s.stream.Swap(watch.NewFake()).Stop() }

// noWatchList declares that a ListerWatcher does not support WatchList.
type noWatchList struct{}

func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// withVersion sets a Pod's resourceVersion, and a UID by its name.
func withVersion(version int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.ResourceVersion, pod.UID = strconv.Itoa(version), types.UID("uid-"+pod.Name)
	}
}

// podsOf lists and watches the Pods of a clientset as generated informers do.
func podsOf(client kubernetes.Interface) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(ctx, options)
		},
	}, client)
}

// startCluster returns the configuration of a server that is closed when the test ends.
func startCluster(t *testing.T) *rest.Config {
	t.Helper()
	config, closeServer := cluster()
	t.Cleanup(closeServer)
	return config
}

// failLists makes lists of a resource fail with an error while failing returns true.
func failLists(client *clientfake.Clientset, resource string, err error, failing func() bool) {
	client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return failing(), nil, err })
}

func always() bool { return true }
