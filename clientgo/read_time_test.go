// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestTimeoutOfClientDoesNotIncludeDecoding has a client whose Timeout is shorter than the time
// that it takes to transform a list, and longer than that in which the server sends it.
func TestTimeoutOfClientDoesNotIncludeDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 1000
		config := serverOfLargePods(t, objects)
		config.Timeout = 2 * time.Second
		informer := slowInformer(config, 3*time.Second/objects)
		expectStreaming(t, "slow", informer, "")
		if n := len(informer.GetStore().ListKeys()); n != objects {
			t.Errorf("%d objects", n)
		}
		if status := clientgo.StatusOf(informer); status.Requests.Lists != 1 {
			t.Errorf("status %+v", status)
		}
	})
}

// TestSlowTransformDoesNotOutlastTheResponse has a server that ends a response after a minute, and
// a transform that takes longer for all objects.
func TestSlowTransformDoesNotOutlastTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 1000
		config, lists := serverOfLargePods(t, objects), 0
		withoutWatchLists(config, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			lists++
			response, err := next.RoundTrip(r)
			if err == nil {
				response.Body = &limitedBody{response.Body, time.Now().Add(time.Minute)}
			}
			return response, err
		})
		informer := slowInformer(config, 100*time.Second/objects)
		background(t, informer.RunWithContext)
		cachetest.Advance(3 * time.Minute)
		if n := len(informer.GetStore().ListKeys()); lists != 1 || n != objects || !clientgo.StatusOf(informer).Requests.Streaming {
			t.Errorf("%d objects by %d lists: %+v", n, lists, clientgo.StatusOf(informer))
		}
	})
}

// TestTransformMayUseATransportOfOneRequest has a transport that sends a request once the body of
// the last one is closed, except for watches, and a transform that requests the object.
func TestTransformMayUseATransportOfOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 1000
		config, free := serverOfLargePods(t, objects), make(chan struct{}, 1)
		withoutWatchLists(config, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			free <- struct{}{}
			response, err := next.RoundTrip(r)
			if err == nil {
				response.Body = &releasingBody{response.Body, free}
			}
			return response, err
		})
		client := kubernetes.NewForConfigOrDie(config)
		options := clientgo.With(clientgo.Options{Limits: cache.Limits{InFlight: 1}})
		transform := options.WithTransform(func(obj any) (any, error) {
			pod := obj.(*corev1.Pod)
			return client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		})
		informer := options.NewSharedInformerFactoryWithOptions(client, 0, transform).Core().V1().Pods().Informer()
		background(t, informer.RunWithContext)
		cachetest.Advance(time.Minute)
		if n := len(informer.GetStore().ListKeys()); n != objects {
			t.Errorf("%d objects: %+v", n, clientgo.StatusOf(informer))
		}
	})
}

// releasingBody is a body that releases its transport when it is closed, which must be once.
type releasingBody struct {
	io.ReadCloser

	free chan struct{}
}

func (b *releasingBody) Close() error {
	<-b.free
	return b.ReadCloser.Close()
}

// limitedBody is a body that ends at some time.
type limitedBody struct {
	io.ReadCloser

	end time.Time
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if time.Now().After(b.end) {
		return 0, io.ErrUnexpectedEOF
	}
	return b.ReadCloser.Read(p)
}

// slowInformer returns an informer of Pods with a transform that sleeps, and that decodes few
// objects at a time.
func slowInformer(config *rest.Config, transform time.Duration) clientcache.SharedIndexInformer {
	options := clientgo.With(clientgo.Options{Limits: cache.Limits{InFlight: 1}})
	return options.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, options.WithTransform(func(obj any) (any, error) {
		<-time.After(transform)
		return obj, nil
	})).Core().V1().Pods().Informer()
}
