// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// admitFunc is the handler of a webhook.
type admitFunc func(ctx context.Context, client kubernetes.Interface, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

// handler returns the handler as a webhook server has it.
func (f admitFunc) handler(client kubernetes.Interface) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		uid := review.Request.UID
		review.Response, review.Request = f(r.Context(), client, review.Request), nil
		if review.Response != nil && review.Response.UID == "" {
			review.Response.UID = uid
		}
		_ = json.NewEncoder(w).Encode(review) // in memory
	}
}

// patched returns the response of a webhook that adds an element to the data of a ConfigMap.
func patched(key, value string) *admissionv1.AdmissionResponse {
	patch := fmt.Sprintf(`[{"op": "add", "path": "/data/%s", "value": %q}]`, key, value)
	return &admissionv1.AdmissionResponse{Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch), Patch: []byte(patch)}
}

func denied(message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: message, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}}
}

func allowed() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

// dataOf returns the data of the ConfigMap that a request writes.
func dataOf(request *admissionv1.AdmissionRequest) map[string]string {
	var configMap corev1.ConfigMap
	_ = json.Unmarshal(request.Object.Raw, &configMap) // which the server has encoded
	return configMap.Data
}

// webhook returns a webhook of ConfigMaps with a path, which edit changes.
func webhook(name, path string, edit ...func(*admissionregistrationv1.ValidatingWebhook)) admissionregistrationv1.ValidatingWebhook {
	w := admissionregistrationv1.ValidatingWebhook{
		Name:         name,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "webhooks", Path: &path}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
	}
	for _, e := range edit {
		e(&w)
	}
	return w
}

func ignoringFailures(w *admissionregistrationv1.ValidatingWebhook) {
	w.FailurePolicy = new(admissionregistrationv1.Ignore)
}

func validating(name string, webhooks ...admissionregistrationv1.ValidatingWebhook) fake.Object {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: webhooks}
}

func mutating(name string, webhooks ...admissionregistrationv1.ValidatingWebhook) fake.Object {
	c := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, w := range webhooks {
		c.Webhooks = append(c.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
		})
	}
	return c
}

// serving returns a function for Test.Start that serves webhooks by their paths, and calls run.
func serving(handlers map[string]admitFunc, run func(context.Context, kubernetes.Interface)) func(context.Context, *rest.Config) error {
	return withClient(func(ctx context.Context, client kubernetes.Interface) error {
		mux, served := http.NewServeMux(), make(chan error)
		for path, f := range handlers {
			mux.Handle(path, f.handler(client))
		}
		go func() { served <- simulate.ServeWebhooks(ctx, mux) }()
		run(ctx, client)
		return <-served
	})
}

// configMap returns a ConfigMap with an element.
func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"key": value}}
}

// Mutating webhooks are called before validating ones, each in the order of the names of their
// configurations, and receive what kube-apiserver sends.
func TestWebhooksAreCalledInOrder(t *testing.T) {
	var log []string
	note := func(name string, response func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) admitFunc {
		return func(_ context.Context, _ kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			var old corev1.ConfigMap
			_ = json.Unmarshal(r.OldObject.Raw, &old) // or empty
			log = append(log, fmt.Sprintf("%s: %s %s %s/%s %v, before %v", name, r.Operation, r.Resource.Resource, r.Namespace, r.Name, dataOf(r), old.Data))
			if r.UserInfo.Username != "system:serviceaccount:default:program" || r.Kind.Kind != "ConfigMap" || *r.DryRun {
				t.Errorf("got user %s, kind %s and dry run %v", r.UserInfo.Username, r.Kind, *r.DryRun)
			}
			return response(r)
		}
	}
	handlers := map[string]admitFunc{
		"/a": note("a", func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return patched("a", "1") }),
		"/b": note("b", func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			if r.Operation == admissionv1.Delete {
				return allowed()
			}
			return patched("b", "2")
		}),
		"/c": note("c", func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			if dataOf(r)["key"] == "bad" {
				return denied("bad")
			}
			return allowed()
		}),
		"/d": note("d", func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return allowed() }),
	}
	test := simulate.Test{
		Objects: []fake.Object{
			validating("2", webhook("d.example.com", "/d")), validating("1", webhook("c.example.com", "/c")),
			mutating("2", webhook("b.example.com", "/b")), mutating("1", webhook("a.example.com", "/a", notDelete)),
		},
		Start: serving(handlers, func(ctx context.Context, client kubernetes.Interface) {
			configMaps := client.CoreV1().ConfigMaps("default")
			created, err := configMaps.Create(ctx, configMap("x", "good"), metav1.CreateOptions{})
			log = append(log, fmt.Sprint("created ", created.Data, " ", err))
			_, err = configMaps.Patch(ctx, "x", types.MergePatchType, []byte(`{"data": {"key": "bad"}}`), metav1.PatchOptions{})
			log = append(log, fmt.Sprint("patch: ", err, " ", apierrors.IsForbidden(err)))
			log = append(log, fmt.Sprint("delete: ", configMaps.Delete(ctx, "x", metav1.DeleteOptions{})))
		}),
	}
	wantFound(t, simulate.RunOnce(t, test), "")
	want := `a: CREATE configmaps default/x map[key:good], before map[]
b: CREATE configmaps default/x map[a:1 key:good], before map[]
c: CREATE configmaps default/x map[a:1 b:2 key:good], before map[]
d: CREATE configmaps default/x map[a:1 b:2 key:good], before map[]
created map[a:1 b:2 key:good] <nil>
a: UPDATE configmaps default/x map[a:1 b:2 key:bad], before map[a:1 b:2 key:good]
b: UPDATE configmaps default/x map[a:1 b:2 key:bad], before map[a:1 b:2 key:good]
c: UPDATE configmaps default/x map[a:1 b:2 key:bad], before map[a:1 b:2 key:good]
patch: admission webhook "c.example.com" denied the request: bad true
b: DELETE configmaps default/x map[], before map[a:1 b:2 key:good]
c: DELETE configmaps default/x map[], before map[a:1 b:2 key:good]
d: DELETE configmaps default/x map[], before map[a:1 b:2 key:good]
delete: <nil>`
	if got := strings.Join(log, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// createOnce is a program that creates a ConfigMap, and logs the answer.
func createOnce(log *[]string) func(context.Context, kubernetes.Interface) {
	return func(ctx context.Context, client kubernetes.Interface) {
		created, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("x", "1"), metav1.CreateOptions{})
		if err != nil {
			*log = append(*log, fmt.Sprint(apierrors.ReasonForError(err), ": ", err))
			return
		}
		*log = append(*log, fmt.Sprint(created.Data))
	}
}

// A call that fails makes the write fail, unless failurePolicy is Ignore. A denial and a patch that
// cannot be applied are no failures of the call.
func TestFailedCalls(t *testing.T) {
	const failed = `InternalError: Internal error occurred: failed calling webhook "w.example.com": `
	for _, test := range []struct {
		name    string
		handler admitFunc
		want    string // with failurePolicy Fail
		always  bool   // also with Ignore
	}{
		{"no response", func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return nil
		},
			failed + "received invalid webhook response: webhook response was absent", false},
		{"another UID", func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, UID: "1"}
		}, failed + `received invalid webhook response: expected response.uid="00000000-0000-0000-0000-000000000001", got "1"`, false},
		{"no patch type", func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte("[]")}
		}, failed + "received invalid webhook response: webhook returned response.patch but not response.patchType", false},
		{"timeout", func(ctx context.Context, _ kubernetes.Interface, _ *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			time.Sleep(time.Minute)
			return denied("too late")
		}, failed + `failed to call webhook: Post "https://webhooks.system.svc:443/w?timeout=10s": context deadline exceeded`, false},
		{"denied without explanation", func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{}
		}, `: admission webhook "w.example.com" denied the request without explanation`, true},
		{"patch that does not apply", func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return patched("no/such", "1")
		}, "InternalError: Internal error occurred: ", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, edit := range []func(*admissionregistrationv1.ValidatingWebhook){func(*admissionregistrationv1.ValidatingWebhook) {}, ignoringFailures} {
				var log []string
				w := webhook("w.example.com", "/w", edit)
				found := simulate.RunOnce(t, simulate.Test{
					Objects: []fake.Object{mutating("w", w)},
					Start:   serving(map[string]admitFunc{"/w": test.handler}, createOnce(&log)),
					Without: []simulate.Oracle{simulate.Order},
				})
				isIgnored := w.FailurePolicy != nil && !test.always
				switch {
				case len(log) != 1:
					t.Fatalf("got %d answers, want 1: %s", len(log), found.Text)
				case isIgnored && log[0] != "map[key:1]", !isIgnored && !strings.HasPrefix(log[0], test.want):
					t.Errorf("ignored %v: got %s, want %s", isIgnored, log[0], test.want)
				}
			}
		})
	}
}

// A handler may send requests to the API server. If the object has changed meanwhile, a write
// without a resourceVersion is admitted anew, and one with it is a conflict.
func TestWriteDuringCallIsSeen(t *testing.T) {
	var log []string
	calls := 0
	handlers := map[string]admitFunc{"/w": func(ctx context.Context, client kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.UserInfo.Username == "kubernetes-admin" || r.Operation != admissionv1.Update || dataOf(r)["from"] == "handler" {
			return allowed()
		}
		calls++
		if calls%2 == 1 { // the first time of each write
			_, err := client.CoreV1().ConfigMaps("default").Patch(ctx, "x", types.MergePatchType, fmt.Appendf(nil, `{"data": {"from": "handler", "n": "%d"}}`, calls), metav1.PatchOptions{})
			if err != nil {
				t.Errorf("patch by the handler: %v", err)
			}
		}
		return patched("seen", dataOf(r)["n"])
	}}
	test := simulate.Test{
		Objects: []fake.Object{configMap("x", "1"), mutating("w", webhook("w.example.com", "/w"))},
		Start: serving(handlers, func(ctx context.Context, client kubernetes.Interface) {
			configMaps := client.CoreV1().ConfigMaps("default")
			patched, err := configMaps.Patch(ctx, "x", types.MergePatchType, []byte(`{"data": {"key": "2", "from": "program"}}`), metav1.PatchOptions{})
			log = append(log, fmt.Sprint(patched.Data, err))
			patched.Data["key"] = "3"
			_, err = configMaps.Update(ctx, patched, metav1.UpdateOptions{})
			log = append(log, fmt.Sprint(apierrors.IsConflict(err)))
		}),
	}
	wantFound(t, simulate.RunOnce(t, test), "")
	if got, want := strings.Join(log, " "), "map[from:program key:2 n:1 seen:1] <nil> true"; got != want || calls != 3 {
		t.Errorf("got %s and %d calls, want %s and 3", got, calls, want)
	}
}

// A write of Steps whose webhook changes the object in each call is not admitted anew without end.
func TestWriteThatEachCallOutdatesFailsRun(t *testing.T) {
	calls := 0
	handlers := map[string]admitFunc{"/w": func(ctx context.Context, client kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if calls++; r.UserInfo.Username != "kubernetes-admin" || calls > 10_000 {
			return allowed()
		}
		_, _ = client.CoreV1().ConfigMaps("default").Patch(ctx, "x", types.MergePatchType, fmt.Appendf(nil, `{"data": {"calls": "%d"}}`, calls), metav1.PatchOptions{})
		return allowed()
	}}
	test := simulate.Test{
		Rest:    10 * time.Second,
		Objects: []fake.Object{configMap("x", "1"), mutating("w", webhook("w.example.com", "/w"))},
		Start:   serving(handlers, func(context.Context, kubernetes.Interface) {}),
		Steps:   func(w *simulate.World) { w.Update(configMap("x", "2")) },
	}
	wantFound(t, simulate.RunOnce(t, test), "steps", "update ConfigMap default/x: the object has changed during the calls of its webhooks, 5 times")
}

// A webhook that is not served is reported, instead of being left out.
func TestUnservedWebhookFailsRun(t *testing.T) {
	for _, test := range []struct {
		name     string
		handlers map[string]admitFunc
	}{
		{"a program that serves nothing", nil},
		{"a program that serves another path", map[string]admitFunc{"/other": nil}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, w := range []admissionregistrationv1.ValidatingWebhook{webhook("w.example.com", "/w"), webhook("w.example.com", "/w", ignoringFailures)} {
				var log []string
				start := serving(test.handlers, createOnce(&log))
				if test.handlers == nil {
					start = withClient(func(ctx context.Context, client kubernetes.Interface) error {
						createOnce(&log)(ctx, client)
						<-ctx.Done()
						return nil
					})
				}
				found := simulate.RunOnce(t, simulate.Test{Objects: []fake.Object{validating("checks", w)}, Start: start})
				wantFound(t, found, "steps", `ValidatingWebhookConfiguration "checks", webhook "w.example.com": no process serves the path "/w"`)
			}
		})
	}
}

func TestWebhookConfigurationsThatCannotBeCalledAreErrors(t *testing.T) {
	withURL := webhook("w.example.com", "/w", func(w *admissionregistrationv1.ValidatingWebhook) {
		w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new("https://example.com")}
	})
	conditional := webhook("w.example.com", "/w", func(w *admissionregistrationv1.ValidatingWebhook) {
		w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "a", Expression: "true"}}
	})
	for _, test := range []struct {
		object fake.Object
		err    string
		notes  int
	}{
		{mutating("w", withURL), `Test.Objects: MutatingWebhookConfiguration "w": webhook "w.example.com" has no clientConfig.service: only webhooks of services are called`, 0},
		{&admissionregistrationv1beta1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, "MutatingWebhookConfiguration w of Test.Objects has version v1beta1: want v1", 0},
		{validating("w", webhook("w.example.com", "w")), `Test.Objects: ValidatingWebhookConfiguration "w": webhook "w.example.com" has path "w": it must begin with a slash`, 0},
		{validating("w", conditional), "", 1},
		{validating("w", webhook("w.example.com", "/w")), "", 0},
	} {
		notes, err := simulate.ReadWebhooks(simulate.Test{Objects: []fake.Object{test.object}})
		if err == nil && test.err != "" || err != nil && err.Error() != test.err || len(notes) != test.notes {
			t.Errorf("got error %v and notes %q, want %q and %d", err, notes, test.err, test.notes)
		}
	}
}

func TestServeWebhooksNeedsContextOfStart(t *testing.T) {
	if err := simulate.ServeWebhooks(t.Context(), http.NewServeMux()); err == nil {
		t.Error("got no error")
	}
}

// A deletecollection is not split into its objects.
func TestDeleteCollectionThatMatchesFailsRun(t *testing.T) {
	test := simulate.Test{
		Objects: []fake.Object{validating("w", webhook("w.example.com", "/w"))},
		Start: serving(map[string]admitFunc{"/w": nil}, func(ctx context.Context, client kubernetes.Interface) {
			_ = client.CoreV1().ConfigMaps("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}) // of none
		}),
	}
	wantFound(t, simulate.RunOnce(t, test), "steps", `deletecollection of configmaps default: ValidatingWebhookConfiguration "w", webhook "w.example.com": the webhooks of a deletecollection are not called`)
}

// A write that names no object, or another one than it changes, is not admitted silently.
func TestOtherWritesThatMatchFailRun(t *testing.T) {
	ofBindings := func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].Resources = []string{"pods/*"} }
	test := simulate.Test{
		Objects: []fake.Object{validating("w", webhook("w.example.com", "/w", ofBindings)), newPod("x")},
		Start: serving(map[string]admitFunc{"/w": nil}, func(ctx context.Context, client kubernetes.Interface) {
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
			_ = client.CoreV1().Pods(namespace).Bind(ctx, binding, metav1.CreateOptions{}) // or the run ends
		}),
	}
	wantFound(t, simulate.RunOnce(t, test), "steps", "create of pods/binding default/x: the webhooks of a write that is neither of an object nor of its status are not called")
}

// A delete of an object that does not exist is answered with 404, and no webhook receives it.
func TestDeleteOfMissingObjectIsNotAdmitted(t *testing.T) {
	var got error
	test := simulate.Test{
		Objects: []fake.Object{validating("w", webhook("w.example.com", "/w", ignoringFailures))},
		Start: serving(map[string]admitFunc{"/w": func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return denied("there is no old object")
		}}, func(ctx context.Context, client kubernetes.Interface) {
			got = client.CoreV1().ConfigMaps("default").Delete(ctx, "x", metav1.DeleteOptions{})
		}),
	}
	wantFound(t, simulate.RunOnce(t, test), "")
	if !apierrors.IsNotFound(got) {
		t.Errorf("got %v, want an error of the reason NotFound", got)
	}
}

// A dry run is admitted if the webhook has no side effects.
func TestWebhooksOfDryRun(t *testing.T) {
	for sideEffects, want := range map[admissionregistrationv1.SideEffectClass]string{
		admissionregistrationv1.SideEffectClassNone:         "map[key:1 w:1]",
		admissionregistrationv1.SideEffectClassNoneOnDryRun: "map[key:1 w:1]",
		admissionregistrationv1.SideEffectClassSome:         `BadRequest: admission webhook "w.example.com" does not support dry run`,
	} {
		got := ""
		w := webhook("w.example.com", "/w", ignoringFailures, func(w *admissionregistrationv1.ValidatingWebhook) { w.SideEffects = &sideEffects })
		simulate.RunOnce(t, simulate.Test{
			Objects: []fake.Object{mutating("w", w)},
			Start: serving(map[string]admitFunc{"/w": func(_ context.Context, _ kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return patched("w", map[bool]string{true: "1"}[*r.DryRun])
			}}, func(ctx context.Context, client kubernetes.Interface) {
				created, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("x", "1"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if got = fmt.Sprint(created.Data); err != nil {
					got = fmt.Sprint(apierrors.ReasonForError(err), ": ", err)
				}
			}),
		})
		if got != want {
			t.Errorf("sideEffects %s: got %s, want %s", sideEffects, got, want)
		}
	}
}

// defaulting serves a webhook that adds an element to ConfigMaps, and copies each one that has it
// into a Secret.
func defaulting(calls *[]string) func(context.Context, *rest.Config) error {
	note := func(_ context.Context, _ kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		*calls = append(*calls, fmt.Sprintf("%s %s by %s", r.Operation, r.Name, r.UserInfo.Username))
		if dataOf(r)["key"] == "bad" {
			return denied("bad")
		}
		return patched("default", "1")
	}
	copyAll := start(func(ctx context.Context, c *copier, key string) error {
		return copyConfigMap(ctx, c, key)
	})
	return func(ctx context.Context, config *rest.Config) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		mux, served := http.NewServeMux(), make(chan error)
		mux.Handle("/w", admitFunc(note).handler(client))
		go func() { served <- simulate.ServeWebhooks(ctx, mux) }()
		return errors.Join(copyAll(ctx, config), <-served)
	}
}

func notDelete(w *admissionregistrationv1.ValidatingWebhook) {
	w.Rules[0].Operations = w.Rules[0].Operations[:2]
}

// ofEvents makes a webhook one for Events, too.
func ofEvents(w *admissionregistrationv1.ValidatingWebhook) {
	w.Rules[0].Resources = append(w.Rules[0].Resources, "events")
}

// defaultingTest is the test of the program of defaulting, whose Steps create a ConfigMap.
func defaultingTest(calls *[]string) simulate.Test {
	labelled := configMap("x", "1")
	labelled.Labels = map[string]string{"copy": "yes"}
	return simulate.Test{
		Objects: []fake.Object{mutating("w", webhook("w.example.com", "/w", notDelete, ofEvents)), configMap("before", "1")},
		Setup:   func(w *simulate.World) { w.Update(configMap("before", "2")) },
		Start:   defaulting(calls),
		Steps: func(w *simulate.World) {
			w.Create(&corev1.Event{ObjectMeta: named("e"), InvolvedObject: corev1.ObjectReference{Namespace: namespace}})
			w.Create(labelled)
			stored := configMap("x", "")
			if !w.Get(stored) || stored.Data["default"] != "1" || len(stored.ManagedFields) > 0 {
				panic("the ConfigMap has no default, or has managers")
			}
			changed := labelled.DeepCopy()
			changed.Labels, changed.Data = nil, map[string]string{"key": "2"}
			w.Update(changed)
			if !w.Get(stored) || stored.Data["default"] != "1" || stored.Labels["copy"] != "yes" {
				panic("the ConfigMap has no default, or no labels")
			}
			w.Delete(stored)
		},
	}
}

// The writes of Steps are admitted, and those before the start and Events are not.
func TestWritesOfStepsAreAdmitted(t *testing.T) {
	var calls []string
	wantFound(t, simulate.RunOnce(t, defaultingTest(&calls)), "")
	if got, want := strings.Join(calls, ", "), "CREATE x by kubernetes-admin, UPDATE x by kubernetes-admin"; got != want {
		t.Errorf("got calls %s, want %s", got, want)
	}
	test := defaultingTest(&calls)
	test.Steps = func(w *simulate.World) { w.Create(configMap("x", "bad")) }
	wantFound(t, simulate.RunOnce(t, test), "steps", `create ConfigMap default/x: admission webhook "w.example.com" denied the request: bad`)
}

// A write of Steps that a webhook denies is tried again as long as the cache that the webhook reads
// is held, and for the time Test.Rest.
func TestDeniedWriteOfStepsIsTriedAgain(t *testing.T) {
	run := start(func(ctx context.Context, c *copier, key string) error {
		mux := http.NewServeMux()
		mux.Handle("/w", admitFunc(func(_ context.Context, _ kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			if _, err := c.configMaps.ConfigMaps("default").Get("first"); r.Name == "second" && err != nil {
				return denied(err.Error())
			}
			return allowed()
		}).handler(c.client))
		return simulate.ServeWebhooks(ctx, mux)
	})
	test := simulate.Test{
		Rest:    10 * time.Second,
		Without: []simulate.Oracle{simulate.EndState}, // the program writes nothing
		Objects: []fake.Object{validating("w", webhook("w.example.com", "/w")), configMap("before", "1")},
		Start:   run,
		Steps: func(w *simulate.World) {
			w.Create(configMap("first", "1"))
			w.Create(configMap("second", "1"))
		},
	}
	const create = "1st create of configmaps default/first by steps"
	found := simulate.RunPlan(t, test, 0, simulate.Lag{After: create, For: 5 * time.Minute})
	wantFound(t, found, "")
	if !strings.Contains(found.Timeline, "denied") {
		t.Errorf("the webhook has denied nothing:\n%s", found.Timeline)
	}
	test.Steps = func(w *simulate.World) { w.Create(configMap("second", "1")) }
	wantFound(t, simulate.RunOnce(t, test), "steps", `configmap "first" not found`)
}

// A write of Steps waits for the process that serves its webhook, if it has crashed.
func TestCrashDuringCall(t *testing.T) {
	const call = "1st call of w.example.com for create of configmaps default/x"
	for _, test := range []struct {
		disturbance simulate.Disturbance
		replicas    int
		want        string // the calls after those of the undisturbed run
	}{
		{simulate.Crash{Before: call}, 1, "CREATE x, UPDATE x"},
		{simulate.Crash{After: call}, 1, "CREATE x, CREATE x, UPDATE x"},
		{simulate.Crash{Before: call}, 2, "CREATE x, UPDATE x"},
		{simulate.Crash{After: call}, 2, "CREATE x, CREATE x, UPDATE x"},
	} {
		t.Run(fmt.Sprint(test.disturbance, test.replicas), func(t *testing.T) {
			var calls []string
			disturbed := defaultingTest(&calls)
			disturbed.Replicas = test.replicas
			found := simulate.RunPlan(t, disturbed, 0, test.disturbance)
			wantFound(t, found, "")
			got := strings.ReplaceAll(strings.Join(calls[2:], ", "), " by kubernetes-admin", "")
			if got != test.want || !strings.Contains(found.Timeline, call) || !strings.Contains(found.Timeline, "is started again") {
				t.Errorf("got calls %s, want %s\n%s", got, test.want, found.Timeline)
			}
		})
	}
}

// A crash answers the call that is open: a handler of a process that has crashed may run on.
func TestCrashAnswersOpenCall(t *testing.T) {
	var log []string
	var started atomic.Int32
	handlers := map[string]admitFunc{"/w": func(ctx context.Context, client kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if err := client.CoreV1().Secrets("default").Delete(ctx, "lock", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			<-ctx.Done()
			log = append(log, "the handler: "+context.Cause(ctx).Error())
		}
		return allowed()
	}}
	test := simulate.Test{
		Replicas: 2,
		Objects:  []fake.Object{validating("w", webhook("w.example.com", "/w"))},
		Without:  []simulate.Oracle{simulate.EndState},
		Start: serving(handlers, func(ctx context.Context, client kubernetes.Interface) {
			number := started.Add(1)
			leader := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "leader"}}
			if _, err := client.CoreV1().Secrets("default").Create(ctx, leader, metav1.CreateOptions{}); err != nil && number <= 4 {
				createOnce(&log)(ctx, client) // the second replica, which does not serve
			}
		}),
	}
	found := simulate.RunPlan(t, test, 0, simulate.Crash{After: "1st delete of secrets default/lock"})
	wantFound(t, found, "")
	want := `map[key:1], the handler: read tcp: connection reset by peer, ` +
		`InternalError: Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: Post "https://webhooks.system.svc:443/w?timeout=10s": read tcp: connection reset by peer`
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("got\n%s\nwant\n%s\n%s", got, want, found.Timeline)
	}
}

// Of the disturbances, a call has only crashes.
func TestOtherDisturbancesOfCallsAreRefused(t *testing.T) {
	const call = "1st call of w.example.com for create of configmaps default/x"
	for _, d := range []simulate.Disturbance{simulate.LostResponse{To: call}, simulate.ServerError{To: call}, simulate.Lag{After: call}, simulate.BackInTime{Before: call}} {
		var calls []string
		wantFound(t, simulate.RunPlan(t, defaultingTest(&calls), 0, d), "steps", call+" is a call of a webhook: of the disturbances, only Crash happens to it")
	}
	var calls []string
	limitRuns(t, 100)
	simulate.Run(t, defaultingTest(&calls))
}

// A run of a seed is the same each time.
func TestRunsWithWebhooksCanBeRepeated(t *testing.T) {
	var calls []string
	plan := []simulate.Disturbance{simulate.Crash{After: "1st call of w.example.com for update of configmaps default/x"}}
	first := simulate.RunPlan(t, defaultingTest(&calls), 7, plan...)
	wantFound(t, first, "")
	for range 10 {
		if again := simulate.RunPlan(t, defaultingTest(&calls), 7, plan...); again.Timeline != first.Timeline {
			t.Fatalf("got the timeline\n%s\nwant that of the first run\n%s", again.Timeline, first.Timeline)
		}
	}
}

// ofPods makes a webhook one for creates of Pods.
func ofPods(w *admissionregistrationv1.ValidatingWebhook) {
	w.Rules[0].Operations, w.Rules[0].Resources = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}, []string{"pods"}
}

// The writes of the cluster are admitted. One that is denied is tried again, and one that is
// obsolete after the calls is not executed.
func TestActionsOfClusterAreAdmitted(t *testing.T) {
	var calls []string
	handlers := map[string]admitFunc{"/w": func(ctx context.Context, client kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		calls = append(calls, fmt.Sprintf("%s %s by %s", r.Operation, r.Resource.Resource, r.UserInfo.Username))
		_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "ready", metav1.GetOptions{})
		if err != nil {
			return denied("not ready")
		}
		zero := []byte(`{"spec": {"replicas": 0}}`)
		if _, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "none", metav1.GetOptions{}); err == nil {
			if _, err := client.AppsV1().ReplicaSets(namespace).Patch(ctx, "db", types.MergePatchType, zero, metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
		}
		patch := []byte(`[{"op": "add", "path": "/metadata/annotations", "value": {"admitted": "yes"}}]`)
		return &admissionv1.AdmissionResponse{Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch), Patch: patch}
	}}
	set := &appsv1.ReplicaSet{ObjectMeta: named("db"), Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}}, Spec: newPod("").Spec},
	}}
	test := simulate.Test{
		Objects: []fake.Object{mutating("w", webhook("w.example.com", "/w", ofPods)), set},
		Start:   serving(handlers, func(context.Context, kubernetes.Interface) {}),
		Without: []simulate.Oracle{simulate.EndState},
		Cluster: []simulate.Actor{simulate.ControlReplicaSets},
		Steps: func(w *simulate.World) {
			if pods := simulate.All[*corev1.Pod](w.State()); len(pods) != 0 {
				t.Errorf("got %d Pods, want none: they are denied", len(pods))
			}
			w.Create(configMap("ready", ""))
			w.Settle()
			if pods := simulate.All[*corev1.Pod](w.State()); len(pods) != 1 || pods[0].Annotations["admitted"] != "yes" {
				t.Errorf("got Pods %v, want one with an annotation", pods)
			}
			w.Create(configMap("none", ""))
			more := set.DeepCopy()
			more.Spec.Replicas = new(int32(2))
			w.Update(more)
			w.Settle()
			if pods := simulate.All[*corev1.Pod](w.State()); len(pods) != 0 {
				t.Errorf("got %d Pods, want none", len(pods))
			}
		},
	}
	found := simulate.RunOnce(t, test)
	wantFound(t, found, "")
	if n := strings.Count(found.Timeline, "cluster    create Pod default\n"); n != 1 {
		t.Errorf("the cluster has created %d Pods, want 1:\n%s", n, found.Timeline)
	}
	if len(calls) < 3 || calls[0] != "CREATE pods by system:kube-controller-manager" || !strings.Contains(found.Timeline, `create Pod default: admission webhook "w.example.com" denied the request: not ready`) {
		t.Errorf("got calls %q and the timeline\n%s", calls, found.Timeline)
	}
}

// A write of Steps that is admitted while an action of the cluster waits for its webhook is
// admitted anew if the object changes before the action is executed.
func TestWriteOfStepsDuringCallOfClusterIsNotStale(t *testing.T) {
	handler := func(ctx context.Context, client kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Resource.Resource == "pods" {
			time.Sleep(2 * time.Second)
			_, err := client.CoreV1().ConfigMaps(namespace).Patch(ctx, "x", types.MergePatchType, []byte(`{"metadata": {"finalizers": ["example.com/x"]}}`), metav1.PatchOptions{})
			if err != nil {
				t.Error(err)
			}
		} else if r.UserInfo.Username == "kubernetes-admin" {
			time.Sleep(time.Second)
		}
		return allowed()
	}
	set := &appsv1.ReplicaSet{ObjectMeta: named("db"), Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}}, Spec: newPod("").Spec},
	}}
	test := simulate.Test{
		Objects: []fake.Object{validating("w", webhook("w.example.com", "/w"), webhook("p.example.com", "/w", ofPods)), configMap("x", "1")},
		Start:   serving(map[string]admitFunc{"/w": handler}, func(context.Context, kubernetes.Interface) {}),
		Cluster: []simulate.Actor{simulate.ControlReplicaSets},
		Steps: func(w *simulate.World) {
			w.Create(set)
			w.Update(configMap("x", "2"))
			stored := configMap("x", "")
			if !w.Get(stored) || stored.Data["key"] != "2" || len(stored.Finalizers) != 1 {
				t.Errorf("got %v, want a finalizer and the data of the update", stored)
			}
		},
	}
	wantFound(t, simulate.RunOnce(t, test), "")
}

// An action of the cluster that was not admitted is tried again before the program is at rest,
// however short Test.Rest is.
func TestActionIsTriedAgainBeforeRest(t *testing.T) {
	set := &appsv1.ReplicaSet{ObjectMeta: named("db"), Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}}, Spec: newPod("").Spec},
	}}
	test := simulate.Test{
		Rest:    20 * time.Second,
		Objects: []fake.Object{validating("w", webhook("w.example.com", "/w", ofPods)), set},
		Start: serving(map[string]admitFunc{"/w": func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return allowed()
		}}, func(context.Context, kubernetes.Interface) {}),
		Cluster: []simulate.Actor{simulate.ControlReplicaSets},
		Outside: func() any { return "" }, // the program writes nothing
	}
	wantFound(t, simulate.RunPlan(t, test, 0, simulate.Crash{Before: "1st call of w.example.com for create of pods default/db-*"}), "")
}

// A custom resource is validated by its schema after its mutating webhooks, and validating webhooks
// receive what is stored then.
func TestSchemaIsCheckedAfterMutation(t *testing.T) {
	const schema = `{"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
		"size": {"type": "integer", "minimum": 1}, "kind": {"type": "string", "default": "small"}}}}}`
	for value, want := range map[string]string{
		"3":  "2 calls: <nil>",
		"-1": `1 calls: Cluster.example.com "db" is invalid: spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 1`,
	} {
		calls, got := 0, ""
		handler := func(_ context.Context, _ kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			calls++
			cluster := clusterOf(r)
			if text(cluster, "spec", "kind") != "small" {
				t.Errorf("got %v, want one with the defaults of the schema", cluster)
			}
			if isFirst := calls == 1; isFirst != (cluster.GetUID() == "") || isFirst != (number(cluster, "spec", "size") == 0) {
				t.Errorf("call %d: got %v, want a UID and a size in the second call alone", calls, cluster)
			}
			if calls > 1 { // of the validating webhook
				return allowed()
			}
			patch := fmt.Appendf(nil, `[{"op": "add", "path": "/spec/size", "value": %s}]`, value)
			return &admissionv1.AdmissionResponse{Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch), Patch: patch}
		}
		test := withWebhook(operatorTest(func(o *operator) syncFunc {
			return func(ctx context.Context, cluster *unstructured.Unstructured) error { return nil }
		}), handler)
		test.CustomResources[0].Schema = schema
		test.Objects = []fake.Object{
			mutating("m", webhook("m.example.com", "/cluster", ofClusters)), validating("v", webhook("v.example.com", "/cluster", ofClusters)),
		}
		run := test.Start
		test.Start = func(ctx context.Context, config *rest.Config) error {
			client, err := dynamic.NewForConfig(config)
			if err != nil {
				return err
			}
			done := make(chan error)
			go func() { done <- run(ctx, config) }()
			_, err = client.Resource(clusterResource).Namespace(namespace).Create(ctx, newCluster(map[string]any{}), metav1.CreateOptions{})
			got = fmt.Sprintf("%d calls: %v", calls, err)
			return <-done
		}
		test.Without = []simulate.Oracle{simulate.EndState}
		simulate.RunOnce(t, test)
		if got != want {
			t.Errorf("size %s: got %s, want %s", value, got, want)
		}
	}
}

// A webhook that sleeps is no timer of the program, which would end a Lag.
func TestWebhookThatSleepsIsNoTimer(t *testing.T) {
	test := sweepByCache(false)
	account := &corev1.ServiceAccount{ObjectMeta: named("robot")}
	ofAccounts := func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].Resources = []string{"serviceaccounts"} }
	test.Objects = append(slices.Clone(test.Objects), account, validating("w", webhook("w.example.com", "/cluster", ofAccounts)))
	sweep := test.Start
	test.Start = func(ctx context.Context, config *rest.Config) error {
		client := kubernetes.NewForConfigOrDie(config)
		factory := informers.NewSharedInformerFactory(client, 0)
		changed := make(chan struct{}, 1)
		signal := func(any) {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		_, _ = factory.Core().V1().Secrets().Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{
			AddFunc: signal, UpdateFunc: func(_, obj any) { signal(obj) },
		})
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		var labels sync.WaitGroup
		defer labels.Wait()
		labels.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-ctx.Done():
				case <-changed:
					_, _ = client.CoreV1().ServiceAccounts(namespace).Patch(ctx, account.Name, types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{}) // or the process crashes
				}
			}
		})
		return sweep(ctx, config)
	}
	test = withWebhook(test, func(context.Context, kubernetes.Interface, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		time.Sleep(time.Second)
		return allowed()
	})
	found := simulate.RunPlan(t, test, 0, simulate.Lag{After: "1st create of configmaps default/b by steps", UntilTimer: true})
	if found.Oracle == "" {
		t.Errorf("the sweep of a stale cache was not found in\n%s", found.Timeline)
	}
}
