// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// secretAt returns secretJSON at another version, with another name.
func secretAt(name, version string) string {
	return strings.NewReplacer(`"name":"s"`, `"name":"`+name+`"`, `"resourceVersion":"4"`, `"resourceVersion":"`+version+`"`).Replace(secretJSON)
}

// secretList returns a list of Secrets in JSON. With a token, more pages follow.
func secretList(version, token string, secrets ...string) http.HandlerFunc {
	return cachetest.Serve(runtime.ContentTypeJSON, []byte(`{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"`+version+
		`","continue":"`+token+`"},"items":[`+strings.Join(secrets, ",")+`]}`))
}

// secretEvents returns a watch with these events in JSON, which then stays open.
func secretEvents(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		cachetest.Serve(runtime.ContentTypeJSON, []byte(strings.Join(events, "\n")))(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func secretEvent(eventType watch.EventType, object string) string {
	return `{"type":"` + string(eventType) + `","object":` + object + `}`
}

// failingServers answer a list, its second page, and watches. Each ends in an error, except the
// first.
var failingServers = map[string]struct{ list, page, watch http.HandlerFunc }{
	"works":                     {},
	"page, connection reset":    {page: dropConnection},
	"page, half a response":     {page: cachetest.ServeTruncated(runtime.ContentTypeJSON, []byte(`{"kind":"SecretList","items":[`+secretJSON))},
	"page, expired":             {page: cachetest.ServeStatus(http.StatusGone, "", string(metav1.StatusReasonExpired))},
	"page, redirected":          {page: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }},
	"page, HTML":                {page: cachetest.Serve("text/html", []byte("<html>"))},
	"page, same token":          {page: secretList("4", continueToken, secretAt("t", "3"))},
	"page, no version":          {page: secretList("", "", secretAt("t", "3"))},
	"page, another kind":        {page: cachetest.Serve(runtime.ContentTypeJSON, []byte(`{"kind":"PodList","metadata":{"continue":"`+continueToken+`"},"items":[]}`))},
	"page, repeated object":     {page: secretList("4", "", secretJSON, secretAt("s", "3"))},
	"page, refused":             {page: cachetest.ServeStatus(http.StatusForbidden, "")},
	"page, busy":                {page: cachetest.ServeStatus(http.StatusTooManyRequests, "1")},
	"list, connection reset":    {list: dropConnection},
	"list, refused":             {list: cachetest.ServeStatus(http.StatusUnauthorized, "")},
	"watch, connection reset":   {watch: dropConnection},
	"watch, refused":            {watch: cachetest.ServeStatus(http.StatusForbidden, "")},
	"watch, older event":        {watch: secretEvents(secretEvent(watch.Modified, secretAt("s", "2")))},
	"watch, older bookmark":     {watch: secretEvents(secretEvent(watch.Bookmark, secretAt("", "2")))},
	"watch, invalid version":    {watch: secretEvents(secretEvent(watch.Added, secretAt("s", "abc")))},
	"watch, invalid bookmark":   {watch: secretEvents(secretEvent(watch.Bookmark, secretAt("", "abc")))},
	"watch, large without kind": {watch: secretEvents(secretEvent(watch.Added, `{"data":{"a":"`+strings.Repeat(secretText, 1<<13)+`"}}`))},
	"watch, large Secret":       {watch: secretEvents(secretEvent(watch.Added, strings.Replace(secretAt("x", "9"), secretBase64, strings.Repeat(secretBase64, 1<<13), 1)))},
	"watch, nested":             {watch: secretEvents(secretEvent(watch.Added, strings.Repeat(`{"`+secretText+`":`, 10_001)))},
	"watch, Status":             {watch: secretEvents(secretEvent(watch.Modified, `{"kind":"Status","apiVersion":"v1","code":500,"reason":"InternalError"}`))},
	"watch, updates":            {watch: secretEvents(secretEvent(watch.Modified, secretAt("s", "7")), secretEvent(watch.Deleted, secretAt("s", "8")))},
}

func dropConnection(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// serveFailing makes the server answer with the handlers that are set, always, and otherwise with
// two pages and an idle watch.
func serveFailing(n *network, list, page, watch http.HandlerFunc) {
	orElse := func(handler, other http.HandlerFunc) http.HandlerFunc {
		if handler != nil {
			return handler
		}
		return other
	}
	n.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		switch query := r.URL.Query(); {
		case query.Has("watch"):
			orElse(watch, secretEvents())(w, r)
		case query.Get("continue") != "":
			orElse(page, secretList("4", "", secretAt("t", "3")))(w, r)
		default:
			orElse(list, secretList("4", continueToken, secretJSON))(w, r)
		}
		return true
	}
}

// TestFailingServersHaveNoContentInLogs runs each informer of Secrets against each failing server.
// The log and the errors have neither a value of a Secret, nor the client's credential, nor a
// continue token, which names objects.
func TestFailingServersHaveNoContentInLogs(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(failingServers)) {
		failing := failingServers[name]
		for _, streams := range []bool{false, true} {
			informers := secretInformers(streams)
			for j, informer := range slices.Sorted(maps.Keys(informers)) {
				if !sampled(i + j) {
					continue
				}
				run := informers[informer]
				t.Run(fmt.Sprintf("%s, %s, streaming=%v", name, informer, streams), func(t *testing.T) {
					expectNoContentOf(t, func(n *network) { serveFailing(n, failing.list, failing.page, failing.watch) }, streams, run)
				})
			}
		}
	}
}

// failingFunctions are options with a function that fails for a Secret.
var failingFunctions = map[string]func(*cache.InformerOptions[*corev1.Secret]){
	"transform": func(o *cache.InformerOptions[*corev1.Secret]) {
		o.Transform = func(*corev1.Secret) (*corev1.Secret, error) { return nil, errFunction }
	},
	"transform to nil": func(o *cache.InformerOptions[*corev1.Secret]) {
		o.Transform = func(*corev1.Secret) (*corev1.Secret, error) { return nil, nil }
	},
	"transform panics": func(o *cache.InformerOptions[*corev1.Secret]) {
		o.Transform = func(s *corev1.Secret) (*corev1.Secret, error) { panic(errFunction) }
	},
	"transform renames": func(o *cache.InformerOptions[*corev1.Secret]) {
		o.Transform = func(s *corev1.Secret) (*corev1.Secret, error) { s.Name = "x"; return s, nil }
	},
	"filter panics": func(o *cache.InformerOptions[*corev1.Secret]) {
		o.Filter = func(*corev1.Secret) bool { panic(errFunction) }
	},
	"index": func(o *cache.InformerOptions[*corev1.Secret]) {
		o.Indexers = cache.Indexers[*corev1.Secret]{"i": cache.ByObject(func(*corev1.Secret) ([]string, error) { return nil, errFunction })}
	},
	"limits": func(o *cache.InformerOptions[*corev1.Secret]) { o.Limits = cache.Limits{Object: 100, Other: 50} },
}

var errFunction = fmt.Errorf("injected failure")

// TestFailingFunctionsHaveNoContentInLogs fails functions of the program, and a handler. Neither
// the log, nor Status, nor the errors of reads, nor the report of the panic have a value of a
// Secret.
func TestFailingFunctionsHaveNoContentInLogs(t *testing.T) {
	for name, fail := range failingFunctions {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed=%v", name, packed), func(t *testing.T) {
				options := cache.InformerOptions[*corev1.Secret]{Packed: packed}
				fail(&options)
				works := func(n *network) { serveFailing(n, nil, nil, failingServers["watch, updates"].watch) }
				expectNoContentOf(t, works, true, func(ctx context.Context, config *rest.Config) string { return runFailing(ctx, config, options) })
			})
		}
	}
}

func runFailing(ctx context.Context, config *rest.Config, options cache.InformerOptions[*corev1.Secret]) string {
	informer := cache.NewSharedInformer(cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Secrets("")), &corev1.Secret{}, options)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Secret]{
		AddFunc: func(*corev1.Secret) { panic(errFunction) },
	}, cache.HandlerOptions{Name: "panics", ContinueOnPanic: true})
	stopped := make(chan error)
	go func() { stopped <- informer.Run(ctx) }()
	<-time.After(time.Minute)
	unhealthy := informer.HealthCheck(cache.HealthOptions{FailOnQuarantined: true})(nil)
	text := fmt.Sprintln(err, unhealthy, informer.Status(), informer.Store().KeyError("ns/s"), shown(informer))
	return text + fmt.Sprintln(<-stopped, informer.Status())
}
