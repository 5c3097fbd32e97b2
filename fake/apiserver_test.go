// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

// closeTimeout is how long a server may take to close. It is long for slow machines.
const closeTimeout = 30 * time.Second

// startServer starts a server and closes it at the end of the test.
func startServer(tb testing.TB, options fake.APIServerOptions) *fake.APIServer {
	tb.Helper()
	server, err := fake.StartAPIServer(options)
	must(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return server
}

// clientFor returns a clientset for a content type, with its own connections.
func clientFor(t *testing.T, server *fake.APIServer, contentType string) *kubernetes.Clientset {
	t.Helper()
	config := server.Config()
	config.ContentType = contentType
	if contentType != runtime.ContentTypeJSON {
		config.AcceptContentTypes = contentType
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // client-go does not share transports with a Proxy function
	httpClient, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	must(t, err)
	return client
}

// contentTypes lists the content types for tests that run once for each.
var contentTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

// eachContentType runs a test with a server and a client, for each content type.
func eachContentType(t *testing.T, test func(t *testing.T, server *fake.APIServer, client *kubernetes.Clientset)) {
	t.Helper()
	for _, contentType := range contentTypes {
		t.Run(contentType, func(t *testing.T) {
			server, client := serve(t, contentType)
			test(t, server, client)
		})
	}
}

// serve starts a server and returns it with a client for a content type.
func serve(t *testing.T, contentType string) (*fake.APIServer, *kubernetes.Clientset) {
	t.Helper()
	server := startServer(t, fake.APIServerOptions{})
	return server, clientFor(t, server, contentType)
}

// fullPod returns a Pod that has metadata, spec and status, with fields of many types, among them
// all with defaults.
func fullPod(name string) *corev1.Pod {
	seconds := int64(30)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name,
			Labels:      map[string]string{"app": "x"},
			Annotations: map[string]string{"note": "ünïcode\n<&>"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: types.UID("u")},
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "m", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
			}},
		},
		Spec: corev1.PodSpec{
			NodeName:                      "n1",
			TerminationGracePeriodSeconds: &seconds,
			Containers: []corev1.Container{{
				Name: "c", Image: "img", ImagePullPolicy: corev1.PullAlways,
				Env:                      []corev1.EnvVar{{Name: "A", Value: "b"}},
				Resources:                corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}},
				TerminationMessagePath:   corev1.TerminationMessagePathDefault,
				TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			}},
			RestartPolicy:      corev1.RestartPolicyAlways,
			DNSPolicy:          corev1.DNSClusterFirst,
			SecurityContext:    &corev1.PodSecurityContext{},
			SchedulerName:      corev1.DefaultSchedulerName,
			Tolerations:        []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Priority:           new(int32),
			PreemptionPolicy:   new(corev1.PreemptNever),
			EnableServiceLinks: new(true),
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func TestCreateGetAndListReturnTheSameObject(t *testing.T) {
	eachContentType(t, func(t *testing.T, _ *fake.APIServer, client *kubernetes.Clientset) {
		ctx := t.Context()
		created, err := client.CoreV1().Pods("ns").Create(ctx, fullPod("a"), metav1.CreateOptions{})
		must(t, err)
		if created.UID == "" || created.ResourceVersion != "2" || created.CreationTimestamp.IsZero() {
			t.Errorf("got %+v", created.ObjectMeta)
		}
		want := fullPod("a")
		want.UID, want.ResourceVersion, want.CreationTimestamp, want.Generation = created.UID, created.ResourceVersion, created.CreationTimestamp, 1
		want.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable} // the create drops the status
		if n := len(created.ManagedFields); n != 2 {
			t.Errorf("got managedFields of %d managers, want those of the object and of the client", n)
		}
		want.ManagedFields = created.ManagedFields
		expectEqual(t, "created", created, want)
		got, err := client.CoreV1().Pods("ns").Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		expectEqual(t, "got", got, want)
		list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		must(t, err)
		expectEqual(t, "listed", &list.Items[0], want)
		if list.ResourceVersion != "2" || len(list.Items) != 1 {
			t.Errorf("got %d items at version %s", len(list.Items), list.ResourceVersion)
		}
	})
}

func expectEqual(t *testing.T, name string, got, want runtime.Object) {
	t.Helper()
	if !apiequality.Semantic.DeepEqual(got, want) {
		t.Errorf("%s object differs (-want +got):\n%s", name, cmp.Diff(want, got))
	}
}

func TestSpecAndStatusAreUpdatedSeparately(t *testing.T) {
	eachContentType(t, func(t *testing.T, server *fake.APIServer, client *kubernetes.Clientset) {
		ctx := t.Context()
		replicas := int32(3)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
		d, err := client.AppsV1().Deployments("ns").Create(ctx, d, metav1.CreateOptions{})
		must(t, err)
		d.Status.Replicas = 2
		d.Spec.Paused = true
		withStatus, err := client.AppsV1().Deployments("ns").UpdateStatus(ctx, d, metav1.UpdateOptions{})
		if err != nil || withStatus.Status.Replicas != 2 || withStatus.Spec.Paused || withStatus.ResourceVersion != "3" {
			t.Fatalf("UpdateStatus: got %+v, %v", withStatus, err)
		}
		withStatus.Spec.Paused = true
		withStatus.Status.Replicas = 9
		updated, err := client.AppsV1().Deployments("ns").Update(ctx, withStatus, metav1.UpdateOptions{})
		if err != nil || !updated.Spec.Paused || updated.Status.Replicas != 2 || updated.ResourceVersion != "4" {
			t.Fatalf("Update: got %+v, %v", updated, err)
		}
		unchanged, err := client.AppsV1().Deployments("ns").Update(ctx, updated, metav1.UpdateOptions{})
		if err != nil || unchanged.ResourceVersion != "4" {
			t.Errorf("update without a change: got version %s, %v, want version 4", unchanged.ResourceVersion, err)
		}

		if _, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		must(t, client.CoreV1().Nodes().Delete(ctx, "n", metav1.DeleteOptions{}))
		if _, err := client.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("got %v, want NotFound", err)
		}
		if got := server.ResourceVersion(); got != "6" {
			t.Errorf("server is at version %s, want 6", got)
		}
	})
}

func TestInvalidRequestsGetAPIErrors(t *testing.T) {
	eachContentType(t, func(t *testing.T, _ *fake.APIServer, client *kubernetes.Clientset) {
		ctx := t.Context()
		pods := client.CoreV1().Pods("ns")
		create := func(p *corev1.Pod) error {
			_, err := pods.Create(ctx, p, metav1.CreateOptions{})
			return err
		}
		must(t, create(pod("a")))
		stale, err := pods.Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		changed := stale.DeepCopy()
		changed.Labels = map[string]string{"app": "x"}
		if _, err := pods.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		update := func(edit func(*corev1.Pod)) error {
			p := changed.DeepCopy()
			p.ResourceVersion = ""
			edit(p)
			_, err := pods.Update(ctx, p, metav1.UpdateOptions{})
			return err
		}
		other, version := types.UID("other"), "1"
		for name, tc := range map[string]struct {
			err  error
			is   func(error) bool
			text string
		}{
			"existing":         {create(pod("a")), apierrors.IsAlreadyExists, `pods "a" already exists`},
			"no name":          {create(pod("")), apierrors.IsInvalid, "name or generateName is required"},
			"bad name":         {create(pod("a/b")), apierrors.IsInvalid, "a lowercase RFC 1123 subdomain"},
			"create with rv":   {create(stale), func(err error) bool { return apierrors.ReasonForError(err) == "" }, "resourceVersion should not be set"},
			"other namespace":  {create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "other"}}), apierrors.IsBadRequest, "does not match the namespace"},
			"stale":            {update(func(p *corev1.Pod) { p.ResourceVersion = stale.ResourceVersion }), apierrors.IsConflict, "the object has been modified"},
			"other UID":        {update(func(p *corev1.Pod) { p.UID = other }), apierrors.IsConflict, "UID in precondition: other"},
			"update missing":   {update(func(p *corev1.Pod) { p.Name = "none" }), apierrors.IsNotFound, `pods "none" not found`},
			"delete missing":   {pods.Delete(ctx, "none", metav1.DeleteOptions{}), apierrors.IsNotFound, `pods "none" not found`},
			"delete other UID": {pods.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}), apierrors.IsConflict, "the UID in the precondition (other)"},
			"delete other rv":  {pods.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}), apierrors.IsConflict, "the ResourceVersion in the precondition (1)"},
		} {
			if !tc.is(tc.err) || !strings.Contains(tc.err.Error(), tc.text) {
				t.Errorf("%s: got error %v, want one with %q", name, tc.err, tc.text)
			}
		}
		generated, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}, metav1.CreateOptions{})
		if err != nil || len(generated.Name) != len("g-")+5 || generated.Status.Phase != corev1.PodPending {
			t.Errorf("generateName: got %q, %v, %v", generated.Name, generated.Status.Phase, err)
		}
	})
}

func TestListOptionsOverHTTP(t *testing.T) {
	eachContentType(t, func(t *testing.T, server *fake.APIServer, client *kubernetes.Clientset) {
		for _, p := range []*corev1.Pod{pod("a", onNode("n1")), pod("b", onNode("n2"), label("app", "x")), pod("c", onNode("n1"))} {
			must(t, server.Create(p))
		}
		other := pod("d", onNode("n1"))
		other.Namespace = "other"
		must(t, server.Create(other))
		list := func(namespace string, opts metav1.ListOptions) (*corev1.PodList, string) {
			t.Helper()
			l, err := client.CoreV1().Pods(namespace).List(t.Context(), opts)
			must(t, err)
			return l, strings.Join(itemsOf(t, l), " ")
		}
		if _, got := list("ns", metav1.ListOptions{FieldSelector: "spec.nodeName=n1"}); got != "a@2 c@4" {
			t.Errorf("by node: got %s", got)
		}
		if _, got := list("", metav1.ListOptions{LabelSelector: "app!=x"}); got != "a@2 c@4 d@5" {
			t.Errorf("by label: got %s", got)
		}
		first, got := list("ns", metav1.ListOptions{Limit: 2})
		if got != "a@2 b@3" || *first.RemainingItemCount != 1 {
			t.Errorf("first page: got %s, %v remaining", got, first.RemainingItemCount)
		}
		must(t, server.Delete(pod("c")))
		if second, got := list("ns", metav1.ListOptions{Limit: 2, Continue: first.Continue}); got != "c@4" || second.ResourceVersion != "5" || second.Continue != "" {
			t.Errorf("second page: got %s at version %s", got, second.ResourceVersion)
		}
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.image=x"}); !apierrors.IsBadRequest(err) {
			t.Errorf("unsupported field selector: got %v, want 400", err)
		}
		// The client would retry after Retry-After, for 10 s.
		code, header, body := request(t, "GET", server.URL()+"/api/v1/pods?resourceVersion=99", "")
		if code != http.StatusGatewayTimeout || header.Get("Retry-After") != "1" || !strings.Contains(body, `"reason":"ResourceVersionTooLarge"`) {
			t.Errorf("list at a future version: got %d, %v, %s", code, header, body)
		}
	})
}

func TestCloseEndsWatches(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	must(t, err)
	client := clientFor(t, server, runtime.ContentTypeJSON)
	w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), closeTimeout) // watches last 30 minutes at least
	defer cancel()
	if err := server.Close(ctx); err != nil {
		t.Errorf("Close with an open watch: %v", err)
	}
	if _, open := <-w.ResultChan(); open {
		t.Error("watch received an event from a closing server")
	}
	if err := server.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("closed server responds")
	}
}
