// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

const (
	// secretText is in the data of the Secrets in these tests, and secretNumber in fields that are
	// numbers or should be.
	secretText   = "hunter2"
	secretNumber = "471104711047110471104711"
	// bearerToken is the credential of the client, and continueToken is in the requests for pages.
	bearerToken   = "c1ient-cred3ntial"
	continueToken = "p4ge-t0ken"
)

var secretBase64 = base64.StdEncoding.EncodeToString([]byte(secretText))

// secretIn returns a value in a text that must be in no log and no error, or "".
func secretIn(text string) string {
	for _, value := range []string{secretText, secretBase64, "47110471", bearerToken, continueToken} {
		if strings.Contains(text, value) {
			return value
		}
	}
	return ""
}

// secretJSON is a Secret.
var secretJSON = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","namespace":"ns","uid":"u","resourceVersion":"4",` +
	`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":\"` + secretText + `\"}"}},` +
	`"data":{"password":"` + secretBase64 + `"},"type":"` + secretText + `"}`

// invalidSecrets returns Secrets that cannot be decoded, stored, or read.
func invalidSecrets() map[string]string {
	edited := func(from, to string) string { return strings.Replace(secretJSON, from, to, 1) }
	metadata := func(member string) string { return edited(`"metadata":{`, `"metadata":{`+member+`,`) }
	return map[string]string{
		"a boolean that is a string":  edited(`"type"`, `"immutable":"`+secretText+`","type"`),
		"a boolean that is a number":  edited(`"type"`, `"immutable":`+secretNumber+`,"type"`),
		"a string that is an object":  edited(`"type"`, `"type":{"`+secretText+`":1},"x"`),
		"a string that is a number":   edited(`"type"`, `"type":`+secretNumber+`,"x"`),
		"data that is a string":       edited(`"data"`, `"data":"`+secretText+`","x"`),
		"data that is not base64":     edited(secretBase64, "!"+secretText),
		"data that is a number":       edited(`"`+secretBase64+`"`, secretNumber),
		"an array of strings":         edited(`"type"`, `"stringData":["`+secretText+`"],"type"`),
		"a time":                      metadata(`"creationTimestamp":"` + secretText + `"`),
		"a time that is a number":     metadata(`"creationTimestamp":` + secretNumber),
		"a number out of range":       metadata(`"generation":` + secretNumber),
		"a number that overflows":     edited(`"type"`, `"x":`+secretNumber+`e999,"type"`),
		"a number that is a fraction": metadata(`"generation":0.` + secretNumber),
		"a number that is a string":   metadata(`"generation":"` + secretText + `"`),
		"a time in managedFields":     metadata(`"managedFields":[{"time":"` + secretText + `"}]`),
		"a label that is a number":    metadata(`"labels":{"a":` + secretNumber + `}`),
		"labels that are a string":    metadata(`"labels":"` + secretText + `"`),
		"owners that are a string":    metadata(`"ownerReferences":"` + secretText + `"`),
		"a name that is a number":     edited(`"name":"s"`, `"name":`+secretNumber),
		"metadata that is a string":   edited(`"metadata":`, `"metadata":"`+secretText+`","x":`),
		"no name":                     edited(`"name":"s",`, ``),
		"another kind":                edited(`"kind":"Secret"`, `"kind":"ConfigMap"`),
		"no kind":                     edited(`"kind":"Secret",`, ``),
		"an invalid escape":           edited(secretBase64, `\`+secretBase64),
		"an invalid literal":          edited(`"`+secretBase64+`"`, secretText),
		"a control character":         edited(secretBase64, secretBase64+"\n"),
		"a truncated object":          secretJSON[:strings.Index(secretJSON, secretBase64)+len(secretBase64)],
	}
}

// body is the response to a list or a watch.
type body struct{ contentType, text string }

// secretLists returns lists that fail, or have an item that cannot be stored.
func secretLists() map[string]body {
	lists := map[string]body{
		"text":               {runtime.ContentTypeJSON, secretText + secretBase64},
		"HTML":               {"text/html", "<html>" + secretText},
		"HTML as JSON":       {runtime.ContentTypeJSON, "<html>" + secretText},
		"a string":           {runtime.ContentTypeJSON, `"` + secretText + `"`},
		"a number":           {runtime.ContentTypeJSON, secretNumber},
		"an array":           {runtime.ContentTypeJSON, `[` + secretJSON + `]`},
		"an object":          {runtime.ContentTypeJSON, secretJSON},
		"items not an array": {runtime.ContentTypeJSON, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"4"},"items":"` + secretText + `"}`},
		"a Table":            {runtime.ContentTypeJSON, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"4"},"rows":[{"cells":["` + secretText + `"]}]}`},
		"text as protobuf":   {runtime.ContentTypeProtobuf, secretText + secretBase64},
		"object as protobuf": {runtime.ContentTypeProtobuf, string(cachetest.Formats["protobuf"].Encode(secret()))},
	}
	for name, object := range invalidSecrets() {
		lists[name] = body{runtime.ContentTypeJSON, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"4"},"items":[` + object + `]}`}
	}
	return lists
}

func secret() *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   cachetest.TypeMeta("Secret"),
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "u", ResourceVersion: "4"},
		Data:       map[string][]byte{"password": []byte(secretText)},
		Type:       secretText,
	}
}

// secretWatches returns watches that fail, or have an object that cannot be stored.
func secretWatches() map[string]body {
	p := cachetest.Formats["protobuf"]
	encoded := p.Encode(secret())
	watches := map[string]body{
		"text":                   {runtime.ContentTypeJSON, secretText + secretBase64},
		"an object":              {runtime.ContentTypeJSON, secretJSON},
		"an unknown type":        {runtime.ContentTypeJSON, `{"type":"` + secretText + `","object":` + secretJSON + `}`},
		"no object":              {runtime.ContentTypeJSON, `{"type":"ADDED","object":"` + secretText + `"}`},
		"ERROR":                  {runtime.ContentTypeJSON, `{"type":"ERROR","object":` + secretJSON + `}`},
		"text as protobuf":       {p.WatchType, secretText + secretBase64},
		"object as protobuf":     {p.WatchType, string(encoded)},
		"an unknown type, proto": {p.WatchType, string(p.Frame(secretText, encoded))},
		"not in an envelope":     {p.WatchType, string(p.Frame(watch.Added, []byte(secretText+secretBase64)))},
		"corrupt":                {p.WatchType, string(p.Frame(watch.Added, append(encoded[:len(encoded)-4:len(encoded)-4], 0xff, 0xff, 0xff, 0xff)))},
		"ERROR, proto":           {p.WatchType, string(p.Frame(watch.Error, encoded))},
	}
	for name, object := range invalidSecrets() {
		for _, eventType := range []string{"MODIFIED", "BOOKMARK"} {
			watches[eventType+" "+name] = body{runtime.ContentTypeJSON, `{"type":"` + eventType + `","object":` + object + `}`}
		}
	}
	return watches
}

// serveSecrets makes the server answer lists and watches with these bodies, and later ones with an
// empty list and an idle watch.
func serveSecrets(n *network, list, watch *body) {
	n.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		next, then := &list, func() {}
		empty := body{runtime.ContentTypeJSON, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":[]}`}
		if r.URL.Query().Has("watch") {
			next, empty, then = &watch, body{runtime.ContentTypeJSON, ""}, func() {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		}
		response := *next
		if *next = nil; response == nil {
			response = &empty
		}
		cachetest.Serve(response.contentType, []byte(response.text))(w, r)
		if response == &empty {
			then()
		}
		return true
	}
}

// secretInformers run an informer of Secrets until ctx ends, and return the texts of its errors.
// With streaming, some are packed.
func secretInformers(streams bool) map[string]func(ctx context.Context, config *rest.Config) string {
	informers := make(map[string]func(ctx context.Context, config *rest.Config) string)
	for _, packed := range slices.Compact([]bool{false, streams}) {
		suffix := map[bool]string{true: ", packed"}[packed]
		informers["typed"+suffix] = func(ctx context.Context, config *rest.Config) string {
			secrets := cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Secrets(""))
			return runSecrets(ctx, secrets, &corev1.Secret{}, packed)
		}
		informers["unstructured"+suffix] = func(ctx context.Context, config *rest.Config) string {
			secrets := cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("secrets")))
			return runSecrets(ctx, secrets, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}, packed)
		}
		informers["partial"+suffix] = func(ctx context.Context, config *rest.Config) string {
			secrets := cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Secrets(""))
			return runSecrets(ctx, secrets, &cache.PartialObject[*corev1.Secret, secretFields]{}, packed)
		}
		informers["partial unstructured"+suffix] = func(ctx context.Context, config *rest.Config) string {
			secrets := cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("secrets")))
			example := &cache.PartialObject[*unstructured.Unstructured, secretFields]{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
			return runSecrets(ctx, secrets, example, packed)
		}
		informers["adapter"+suffix] = func(ctx context.Context, config *rest.Config) string {
			return runAdapter(ctx, config, clientgo.Options{Packed: packed, Streaming: true}, nil)
		}
	}
	return informers
}

// secretFields are the fields of a Secret that a PartialObject has.
type secretFields struct {
	Data       map[string][]byte `json:"data"`
	StringData map[string]string `json:"stringData"`
	Type       corev1.SecretType `json:"type"`
	Immutable  *bool             `json:"immutable"`
}

func runSecrets[T cache.Object](ctx context.Context, lw cache.ListerWatcher, example T, packed bool) string {
	informer := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{Packed: packed, DetectMutations: !packed})
	stopped := make(chan error)
	go func() { stopped <- informer.Run(ctx) }()
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	unsynced := informer.WaitForSync(soon)
	_, err := cache.NewLister(informer.Store(), corev1.Resource("secrets")).Namespace("ns").Get("s")
	status := fmt.Sprintln(unsynced, err, informer.Status())
	if !packed { // what is shown does not depend on it
		status += shown(informer)
	}
	return fmt.Sprintln(status, <-stopped, informer.Status())
}

func runAdapter(ctx context.Context, config *rest.Config, options clientgo.Options, transform clientcache.TransformFunc) string {
	secrets := corev1client.NewForConfigOrDie(config).Secrets("")
	lw := &clientcache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return secrets.List(ctx, o) },
		WatchFuncWithContext: secrets.Watch,
	}
	informer := clientgo.With(options).NewSharedIndexInformer(lw, &corev1.Secret{}, 0, clientcache.Indexers{})
	if err := informer.SetTransform(transform); err != nil {
		return err.Error()
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	<-time.After(time.Minute)
	_, _, unsynced := informer.GetStore().GetByKey("ns/s")
	text := ""
	if !options.Packed {
		text = shown(clientgo.ControllerOf(informer))
	}
	<-stopped
	_, _, err := informer.GetStore().GetByKey("ns/s")
	return fmt.Sprintln(unsynced, err, text)
}

// TestErrorsAndLogsHaveNoContentOfObjects lists and watches Secrets that cannot be decoded, stored
// or read, and responses that are no list or watch. Neither the log nor any error has a value of
// theirs.
func TestErrorsAndLogsHaveNoContentOfObjects(t *testing.T) {
	lists, watches := secretLists(), secretWatches()
	for _, streams := range []bool{false, true} {
		informers := secretInformers(streams)
		for i, informer := range slices.Sorted(maps.Keys(informers)) {
			run := informers[informer]
			t.Run(fmt.Sprintf("%s, streaming=%v", informer, streams), func(t *testing.T) {
				for j, name := range slices.Sorted(maps.Keys(lists)) {
					if list := lists[name]; sampled(i + j) {
						t.Run("list, "+name, func(t *testing.T) { expectNoContent(t, &list, nil, streams, run) })
					}
				}
				for j, name := range slices.Sorted(maps.Keys(watches)) {
					if watch := watches[name]; sampled(i + j) {
						t.Run("watch, "+name, func(t *testing.T) { expectNoContent(t, nil, &watch, streams, run) })
					}
				}
			})
		}
	}
}

func expectNoContent(t *testing.T, list, watch *body, streams bool, run func(context.Context, *rest.Config) string) {
	t.Helper()
	expectNoContentOf(t, func(n *network) { serveSecrets(n, list, watch) }, streams, run)
}

// expectNoContentOf checks the content of an informer that runs with a client of a server, which
// has a credential.
func expectNoContentOf(t *testing.T, serve func(n *network), streams bool, run func(context.Context, *rest.Config) string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := connectOver(cachetest.New(t), http1, decodingClient)
		serve(n)
		config := &rest.Config{Host: "http://server", QPS: -1, Transport: n.transport, BearerToken: bearerToken}
		if streams {
			cache.EnableStreaming(config)
		}
		checkContent(t, func(ctx context.Context) string { return run(ctx, config) })
	})
}

// logRecord matches the beginning of a record of the log.
var logRecord = regexp.MustCompile(`^[IWEF][0-9]{4} `)

// logOfClient matches what client-go's client logs itself and on purpose: URLs of responses with a
// Retry-After from verbosity 4 on and of all requests from 6 on, headers from 7 on, and bodies from
// 8 on.
var logOfClient = regexp.MustCompile(`\] "(Request|Response|Got a Retry-After response)( Body)?" `)

// checkContent runs an informer for ten minutes. Its errors and its log must not contain a secret.
func checkContent(t *testing.T, run func(ctx context.Context) string) {
	t.Helper()
	var logged logBuffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged), textlogger.Verbosity(10)))
	ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), logger), 10*time.Minute)
	defer cancel()
	text := run(ctx)
	ofClient := false // the last record, which may have several lines
	for line := range strings.Lines(logged.String()) {
		if logRecord.MatchString(line) {
			ofClient = logOfClient.MatchString(line)
		}
		if !ofClient && secretIn(line) != "" {
			t.Errorf("a secret in the log: %s", line)
		}
	}
	if found := secretIn(text); found != "" {
		t.Errorf("%q in an error or in Status: %s", found, text)
	}
}

// TestLogOfFailedTransformHasNoContent transforms Secrets into values that the adapter cannot
// store.
func TestLogOfFailedTransformHasNoContent(t *testing.T) {
	type notAnObject struct{ Password string }
	for name, transform := range map[string]clientcache.TransformFunc{
		"a result without a key": func(any) (any, error) { return &notAnObject{secretText}, nil },
		"a value":                func(any) (any, error) { return secretText, nil },
		"a result without a name": func(obj any) (any, error) {
			obj.(*corev1.Secret).Name = ""
			return obj, nil
		},
		"a tombstone": func(obj any) (any, error) { return clientcache.DeletedFinalStateUnknown{Obj: obj}, nil },
		"nil":         func(any) (any, error) { return nil, nil },
	} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed=%v", name, packed), func(t *testing.T) {
				list := &body{runtime.ContentTypeJSON, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"4"},"items":[` + secretJSON + `]}`}
				expectNoContent(t, list, nil, false, func(ctx context.Context, config *rest.Config) string {
					return runAdapter(ctx, config, clientgo.Options{Packed: packed}, transform)
				})
			})
		}
	}
}
