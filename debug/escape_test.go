// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// hostile is a text that would run a script, or leave the element or attribute that it is in.
const hostile = `'"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}` + "\x00\xff\u202e"

// TestHostileTextIsEscaped has it in every text that is not the library's own.
func TestHostileTextIsEscaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.Pod{})
		for _, name := range []string{hostile, "bad" + hostile} {
			server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{"note": hostile}}})
		}
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			Name:     "name " + hostile,
			Indexers: cache.Indexers[*corev1.Pod]{"index" + hostile: cache.ByObject(func(*corev1.Pod) ([]string, error) { return []string{"x"}, nil })},
			Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
				if strings.HasPrefix(pod.Name, "bad") {
					return nil, errors.New("cause " + hostile)
				}
				return pod, nil
			},
		})
		if _, err := informer.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) {}), cache.HandlerOptions{Name: "handler " + hostile}); err != nil {
			t.Fatal(err)
		}
		server.InjectWatchFault(-1, fake.Fault{Err: errors.New("failed " + hostile)})
		run(t, informer)
		handler, id := Handler(withObjects, informer), informer.Views()[0].ID()
		key := "ns%2F" + url.QueryEscape(hostile)
		for target, parts := range map[string][]string{
			"/":                      {"name ", "failed ", "cause "},
			"/?filter=" + key:        {"value=\"ns/"},
			page("informer", id, ""): {"name ", "handler ", "failed ", "cause ", "index", "bad"},
			page("informer", id, "") + "&find=%3Cscript%3E": {`value="&lt;script&gt;"`, "1 found"},
			page("object", id, key):                         {"note"},
			"/none":                                         {"no such page"},
		} {
			text := serve(t, handler, "GET "+target).Body.String()
			expect(t, text, parts...)
			expectNot(t, strings.ReplaceAll(text, "\u202e&#34;", ""), "<script>", "<img", "\x00", "\xff", "\u202e") // but in JSON strings
			if strings.Count(text, "<script ") > 1 {
				t.Errorf("%s has more than its own script", target)
			}
		}
		for _, target := range []string{"/informers.json", page("informer.json", id, ""), page("object.json", id, key)} {
			answer := serve(t, handler, "GET "+target)
			if answer.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s: got %q", target, answer.Header())
			}
			expectNot(t, answer.Body.String(), "<script>", "<img")
		}
	})
}
