// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestPageThatCannotBeSplitIsATrialOfTheWholeList has a second page that neither the informer nor
// the client can read, and later ones that both can.
func TestPageThatCannotBeSplitIsATrialOfTheWholeList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			first  = `{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1", "continue": "c"}, "items": [{"metadata": {"namespace": "ns", "name": "b", "uid": "u", "resourceVersion": "1"}}]}`
			broken = `{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [}`
		)
		config := serverOfLargePods(t, 1)
		responses := []string{first, broken, first, broken}
		withoutWatchLists(config, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			if len(responses) == 0 {
				return next.RoundTrip(r)
			}
			response := respond(http.StatusOK, responses[0])
			responses = responses[1:]
			return response, nil
		})
		informer := plain.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0).Core().V1().Pods().Informer()
		background(t, informer.RunWithContext)
		cachetest.Advance(2 * time.Minute)
		if status := clientgo.StatusOf(informer); !informer.HasSynced() || !status.Requests.Streaming {
			t.Errorf("status %+v", status)
		}
	})
}

// Corn is a Go type that its client's scheme registers as kind Pod.
type Corn corev1.Pod

func (c *Corn) DeepCopyObject() runtime.Object { return (*Corn)((*corev1.Pod)(c).DeepCopy()) }

// Corns is its list type.
type Corns struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Corn `json:"items"`
}

func (c *Corns) DeepCopyObject() runtime.Object {
	return &Corns{c.TypeMeta, c.ListMeta, slices.Clone(c.Items)}
}

// TestTypeOfAnotherNameThanItsKindStartsAtOnce has a Go type whose kind is not known before the
// first response.
func TestTypeOfAnotherNameThanItsKindStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		scheme.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("Pod"), &Corn{})
		scheme.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("PodList"), &Corns{})
		metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
		config := serverOfLargePods(t, 1)
		config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, serializer.NewCodecFactory(scheme).WithoutConversion()
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
		client, err := rest.RESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		informer := clientgo.Generated(&exampleFactory{client: &Clientset{exampleV1: &ExampleV1Client{client}}}, clientgo.Options{}).
			InformerFor(&Corn{}, func(client exampleClient, resync time.Duration) clientcache.SharedIndexInformer {
				return newInformerOf(client, "pods", &Corn{}, resync)
			})
		background(t, informer.RunWithContext)
		cachetest.Advance(5 * time.Second)
		if status := clientgo.StatusOf(informer); !informer.HasSynced() || status.Requests.Streaming || len(informer.GetStore().ListKeys()) != 1 {
			t.Errorf("status %+v", status)
		}
	})
}

// TestListThatCannotBeSplitIsDecoded replaces the server's first responses to lists. Where the
// client can decode what the informer could not split, and the program has not asked for streaming,
// the client decodes from then on.
func TestListThatCannotBeSplitIsDecoded(t *testing.T) {
	const (
		twice  = `{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [], "items": [{"metadata": {"namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "1"}}]}`
		broken = `{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [}`
		status = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500}`
	)
	asked := clientgo.Options{Streaming: true}
	for name, c := range map[string]struct {
		options   clientgo.Options
		responses []string
		lists     int    // until one succeeds
		reason    string // for not streaming afterwards
	}{
		"only the client can":       {clientgo.Options{}, []string{twice, twice}, 2, "items: duplicate member"},
		"the second time it can":    {clientgo.Options{}, []string{twice}, 2, "items: duplicate member"},
		"neither can":               {clientgo.Options{}, []string{broken, broken}, 3, ""},
		"neither can, repeatedly":   {clientgo.Options{}, []string{broken, broken, status, status}, 5, ""},
		"the connection breaks":     {clientgo.Options{}, []string{twice[:80]}, 2, ""},
		"streaming is asked for":    {asked, []string{twice, twice, twice}, 4, ""},
		"streaming is not possible": {clientgo.Options{DisableStreaming: true}, []string{twice}, 1, "disable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := cachetest.StartAPIServer(t, fake.APIServerOptions{InMemory: true, NoWatchTimeout: true})
				cachetest.Must(t, server.Create, cachetest.Pod("a"))
				config, lists := server.Config(), 0
				withoutWatchLists(config, func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
					if lists++; lists <= len(c.responses) {
						return respond(http.StatusOK, c.responses[lists-1]), nil
					}
					return next.RoundTrip(r)
				})
				informer := clientgo.With(c.options).NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0).Core().V1().Pods().Informer()
				logged := runLogged(t, informer)
				cachetest.Advance(2 * time.Minute)
				status := clientgo.StatusOf(informer)
				if !informer.HasSynced() || lists != c.lists || status.Requests.Streaming != (c.reason == "") || !strings.Contains(status.Requests.NotStreamingReason, c.reason) {
					t.Errorf("after %d lists, want %d, streaming is %v, %q, %v; want the reason %q", lists, c.lists, status.Requests.Streaming, status.Requests.NotStreamingReason, status.Err, c.reason)
				}
				warned := logged.count("Warning: lists and watches are not read from the stream")
				isDecoded := strings.Contains(c.reason, "duplicate")
				if isDecoded != (warned == 1) || warned > 1 || isDecoded && logged.count("Failed to watch") > 0 {
					t.Errorf("want one warning if the client decodes, and no error then:\n%s", &logged.log)
				}
				cachetest.Must(t, server.Create, cachetest.Pod("b"))
				cachetest.Advance(time.Minute)
				if keys := informer.GetStore().ListKeys(); len(keys) != 2 {
					t.Errorf("the store has %v", keys)
				}
			})
		})
	}
}
