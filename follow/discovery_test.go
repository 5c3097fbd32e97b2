// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// answers are the responses of a server, by path: those of a path in order, the last one again and
// again.
type answers map[string][]answer

// answer is a response. Without a code it is a 200, and an aggregated one is of that version.
type answer struct {
	code             int
	aggregated, etag string
	body             string
	err              error
}

// client returns a discovery client of the server, and the requests that it has made.
func (a answers) client() (_ discovery.DiscoveryInterface, requests *[]string) {
	requests = new([]string)
	respond := func(request *http.Request) (*http.Response, error) {
		path := request.URL.Path
		*requests = append(*requests, strings.TrimSpace(path+" "+request.Header.Get("If-None-Match")))
		next := answer{code: http.StatusNotFound}
		if all := a[path]; len(all) > 0 {
			if next = all[0]; len(all) > 1 {
				a[path] = all[1:]
			}
		}
		if next.err != nil {
			return nil, next.err
		}
		header := http.Header{"Content-Type": {"application/json"}, "Etag": {next.etag}}
		if next.aggregated != "" {
			if !strings.Contains(request.Header.Get("Accept"), "v="+next.aggregated+";") {
				next.code = http.StatusNotAcceptable
			}
			header.Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v="+next.aggregated+";as=APIGroupDiscoveryList")
		}
		return &http.Response{StatusCode: max(next.code, http.StatusOK), Header: header, Body: io.NopCloser(strings.NewReader(next.body)), Request: request}, nil
	}
	return discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: "http://server/proxy", Transport: roundTripper(respond)}), requests
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Path = strings.TrimPrefix(request.URL.Path, "/proxy")
	return f(request)
}

// String returns the resources, then the versions without any. Stale ones have a "!".
func (d *document) String() string {
	var all []string
	empty := maps.Clone(d.stale)
	for i, r := range d.resources {
		if version := r.GroupVersion(); i == 0 || version != d.resources[i-1].GroupVersion() {
			all = append(all, version.String())
			delete(empty, version)
		}
		text := fmt.Sprintf(" %s=%s", strings.Join(append([]string{r.Resource}, r.Subresources...), "/"), r.Kind)
		if r.Namespaced {
			text += " namespaced"
		}
		if r.Preferred {
			text += " preferred"
		}
		all[len(all)-1] += text + fmt.Sprint(r.Verbs)
	}
	for _, version := range slices.SortedFunc(maps.Keys(empty), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
		all = append(all, version.String()+map[bool]string{true: "!"}[empty[version]])
	}
	return strings.Join(all, ", ")
}

func wantsAll(schema.GroupVersion, bool) (ask, keep bool) { return true, true }

const (
	aggregatedCore = `{"items": [{"versions": [{"version": "v1", "resources": [{"resource": "pods", "scope": "Namespaced", "responseKind": {"kind": "Pod"}, "verbs": ["list"]}]}]}]}`
	aggregatedApps = `{"items": [
		{"metadata": {"name": "example.com"}, "versions": [
			{"version": "v2", "freshness": "Current", "resources": [
				{"resource": "widgets", "scope": "Namespaced", "responseKind": {"kind": "Widget"}, "verbs": ["list", "watch"], "subresources": [{"subresource": "status", "responseKind": {"kind": "Widget"}}, {"subresource": "scale", "responseKind": {"kind": "Scale"}}]},
				{"resource": "virtual", "subresources": [{"subresource": "only"}]}]},
			{"version": "v1", "resources": [
				{"resource": "widgets", "scope": "Cluster", "responseKind": {"kind": "Widget"}, "verbs": ["get"]},
				{"resource": "gadgets", "responseKind": {"kind": "Gadget"}}]}]},
		{"metadata": {"name": "metrics"}, "versions": [{"version": "v1", "freshness": "Stale"}]}]}`
	documentOfBoth = "v1 pods=Pod namespaced preferred[list], example.com/v2 widgets/status/scale=Widget namespaced preferred[list watch], " +
		"example.com/v1 widgets=Widget[get] gadgets=Gadget preferred[], metrics/v1!"
	groupList = `{"kind": "APIGroupList", "groups": [
		{"name": "example.com", "versions": [{"groupVersion": "example.com/v2"}, {"groupVersion": "example.com/v1"}], "preferredVersion": {"groupVersion": "example.com/v2"}},
		{"name": "metrics", "versions": [{"groupVersion": "metrics/v1"}], "preferredVersion": {"groupVersion": "metrics/v1"}}]}`
	resourceList = `{"resources": [{"name": "widgets/status", "kind": "Widget"}, {"name": "widgets", "kind": "Widget", "namespaced": true, "verbs": ["list"]}]}`
)

func TestDiscovery(t *testing.T) {
	core := []answer{{aggregated: "v2", body: aggregatedCore}}
	legacyCore := []answer{{body: `{"kind": "APIVersions", "versions": ["v1"]}`}}
	pods := []answer{{body: `{"resources": [{"name": "pods", "kind": "Pod", "verbs": ["list"]}]}`}}
	none := func(version schema.GroupVersion, _ bool) (ask, keep bool) {
		return version.Group == "", version.Group == ""
	}
	for _, row := range []struct {
		name     string
		answers  answers
		wants    func(version schema.GroupVersion, known bool) (ask, keep bool)
		want     []string // documents or errors
		requests string
	}{
		{"aggregated", answers{"/api": core, "/apis": {{aggregated: "v2", etag: `"1"`, body: aggregatedApps}, {code: 304}, {aggregated: "v2", etag: `"2"`, body: `{}`}, {code: 304}}}, none,
			[]string{documentOfBoth, "same", "v1 pods=Pod namespaced preferred[list]", "same"}, `/api, /apis, /apis "1", /apis "1", /apis "2"`},
		{"an earlier version", answers{"/api": {{aggregated: "v2beta1", body: aggregatedCore}}, "/apis": {{aggregated: "v2beta1", body: aggregatedApps}}}, none,
			[]string{documentOfBoth, documentOfBoth}, "/api, /apis, /apis"},
		{"an answer after an error", answers{"/api": core, "/apis": {{code: 503, body: "starting"}, {aggregated: "v2", etag: `"1"`, body: `{}`}, {code: 500}, {code: 304}}}, none,
			[]string{"/apis: 503", "v1 pods=Pod namespaced preferred[list]", "/apis: 500", "same"}, `/api, /apis, /apis, /apis "1", /apis "1"`},
		{"not changed, without a document", answers{"/api": core, "/apis": {{code: 304}}}, none, []string{"/apis: 304"}, "/api, /apis"},
		{"core is asked again after an error", answers{"/api": {{code: 403}, core[0]}, "/apis": {{aggregated: "v2", body: `{}`}}}, none,
			[]string{"/api: 403", "v1 pods=Pod namespaced preferred[list]"}, "/api, /api, /apis"},
		{"malformed", answers{"/api": core, "/apis": {{aggregated: "v2", etag: `"1"`, body: `{"items": [`}, {aggregated: "v2", body: `{}`}}}, none,
			[]string{"discovery: unexpected end", "v1 pods=Pod namespaced preferred[list]"}, `/api, /apis, /apis`},
		{"malformed groups", answers{"/api": legacyCore, "/apis": {{body: `{"groups": 1}`}, {body: `{"groups": [{"versions": [{"groupVersion": "a/b/c"}]}]}`}, {body: "<html>"}}}, none,
			[]string{"discovery: json", "discovery of a/b/c: unexpected GroupVersion", "discovery: invalid character"}, `/api, /api/v1, /apis, /apis, /apis`},
		{"no connection", answers{"/api": {{err: io.ErrUnexpectedEOF}}}, none, []string{"unexpected EOF"}, "/api"},

		{"groups alone", answers{"/api": legacyCore, "/api/v1": pods, "/apis": {{etag: `"1"`, body: groupList}}, "/apis/example.com/v2": {{body: resourceList}}, "/apis/metrics/v1": {{code: 503}}}, wantsAll,
			[]string{"v1 pods=Pod preferred[list], example.com/v2 widgets/status=Widget namespaced preferred[list], example.com/v1, metrics/v1!"},
			"/api, /api/v1, /apis, /apis/example.com/v2, /apis/example.com/v1, /apis/metrics/v1"},
		{"the wanted groups alone", answers{"/api": legacyCore, "/api/v1": pods, "/apis": {{body: groupList}}, "/apis/example.com/v1": {{body: resourceList}, {code: 404}}},
			func(version schema.GroupVersion, _ bool) (ask, keep bool) {
				wanted := version.Version == "v1" && version.Group != "metrics"
				return wanted, wanted
			},
			[]string{"v1 pods=Pod preferred[list], example.com/v1 widgets/status=Widget namespaced preferred[list], example.com/v2!, metrics/v1!", "v1 pods=Pod preferred[list], example.com/v1, example.com/v2!, metrics/v1!"},
			"/api, /api/v1, /apis, /apis/example.com/v1, /apis, /apis/example.com/v1"},
		{"a group fails", answers{"/api": legacyCore, "/api/v1": pods, "/apis": {{body: groupList}}, "/apis/example.com/v2": {{code: 500}, {body: "{"}}}, wantsAll,
			[]string{"/apis/example.com/v2: 500", "discovery of example.com/v2: unexpected end"}, "/api, /api/v1, /apis, /apis/example.com/v2, /apis, /apis/example.com/v2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			client, requests := row.answers.client()
			d := newDiscoverer(client, row.wants)
			var last *document
			for i, want := range row.want {
				got, err := d.ask(t.Context())
				status := apierrors.APIStatus(nil)
				var text string
				switch {
				case errors.As(err, &status):
					text = fmt.Sprintf("%s: %d", status.Status().Details.Name, status.Status().Code)
				case err != nil:
					text = err.Error()
				case got == last:
					text = "same"
				default:
					last, text = got, got.String()
				}
				if text != want && (err == nil || !strings.Contains(text, want)) {
					t.Errorf("answer %d:\n got %s\nwant %s", i, text, want)
				}
			}
			if got := strings.Join(*requests, ", "); got != row.requests {
				t.Errorf("requests\n got %s\nwant %s", got, row.requests)
			}
		})
	}
}

// Documents are the same if their contents are, whichever server has sent them.
func TestDocumentID(t *testing.T) {
	body := func(text string) answer { return answer{aggregated: "v2", body: text} }
	for _, row := range []struct {
		answers answers
		same    []bool // as the document before
	}{
		{answers{"/api": {body("{}")}, "/apis": {body(aggregatedApps), body(aggregatedApps), body("{}"), body(aggregatedApps)}}, []bool{true, false, false}},
		{answers{"/api": {{body: "{}"}}, "/apis": {{body: groupList}}, "/apis/example.com/v1": {{body: resourceList}, {body: resourceList}, {body: "{}"}}}, []bool{true, false}},
	} {
		client, _ := row.answers.client()
		d := newDiscoverer(client, wantsAll)
		var last *document
		for i := range len(row.same) + 1 {
			next, err := d.ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 && (next.id == last.id) != row.same[i-1] {
				t.Errorf("document %d is the same: %v, want %v", i, next.id == last.id, row.same[i-1])
			}
			last = next
		}
	}
}

func TestTooLargeDiscovery(t *testing.T) {
	for size, want := range map[int]bool{100: true, 101: false} {
		body := "{}" + strings.Repeat(" ", size-2)
		client, _ := answers{"/api": {{aggregated: "v2", body: "{}"}}, "/apis": {{aggregated: "v2", body: body}}}.client()
		d := newDiscoverer(client, wantsAll)
		d.maxBytes = 100
		if _, err := d.ask(t.Context()); (err == nil) != want {
			t.Errorf("%d bytes: error %v", size, err)
		}
	}
}

func TestDiscoveryEndsWithContext(t *testing.T) {
	client, _ := answers{}.client()
	d := newDiscoverer(client, wantsAll)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.ask(ctx); err == nil {
		t.Error("no error")
	}
}

func TestDiscoveryClientWithoutRESTClient(t *testing.T) {
	metadataClient := metadata.NewForConfigOrDie(&rest.Config{})
	discoveryClient, _ := answers{}.client()
	for name, follower := range map[string]*Follower{
		"no clients":             New(nil, nil, Options{}),
		"no metadata client":     New(nil, discoveryClient, Options{}),
		"no discovery client":    New(metadataClient, nil, Options{}),
		"no REST client":         New(metadataClient, &discovery.DiscoveryClient{}, Options{}),
		"a REST client of fakes": New(metadataClient, fakediscovery{}, Options{}),
	} {
		if err := follower.Run(t.Context()); !errors.Is(err, errNoClient) {
			t.Errorf("%s: Run returned %v", name, err)
		}
		if err := follower.WaitForServed(t.Context(), schema.GroupVersionResource{}); !errors.Is(err, errNoClient) {
			t.Errorf("%s: WaitForServed returned %v", name, err)
		}
		if views, status := follower.Views(), follower.Status(); views != nil || status != (Status{}) {
			t.Errorf("%s: views %v, status %+v", name, views, status)
		}
	}
}

// fakediscovery is a discovery client without a REST client, as client-go's.
type fakediscovery struct{ discovery.DiscoveryInterface }

func (fakediscovery) RESTClient() rest.Interface { return nil }
