// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server with Pods in two namespaces and a node. The environment selects no cluster.
func start(t *testing.T) *clustertest.Server {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	server := clustertest.Start(t, fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}},
	})
	server.Create(
		pod("default", "web-1", "web", ""),
		pod("default", "db-1", "db", ""),
		pod("kube-system", "dns", "dns", ""),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
	)
	setStatus(t, server, pod("default", "web-1", "web", corev1.PodRunning))
	return server
}

func setStatus(t *testing.T, server *clustertest.Server, object *corev1.Pod) {
	t.Helper()
	if err := server.UpdateStatus(object); err != nil {
		t.Fatal(err)
	}
}

func pod(namespace, name, app string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "main"}}},
		Status:     corev1.PodStatus{Phase: phase, PodIPs: []corev1.PodIP{{IP: "10.0.0.7"}}},
	}
}

var (
	ages   = regexp.MustCompile(`\b\d+s\b`)
	synced = regexp.MustCompile(`synced in \S+\n`)
)

func TestOncePrintsTheColumnsOfTheServer(t *testing.T) {
	server := start(t)
	var all strings.Builder
	for _, args := range []string{
		"pods", "po -A", "pods -n kube-system", "pods -A -l app=web", "pods --field-selector status.phase=Pending", "pods -o wide",
		"nodes -n kube-system", "configmaps", "widgets.example.com -A",
	} {
		var out bytes.Buffer
		arguments := append(strings.Fields(args), "--once", "--server", server.URL())
		if err := Run(t.Context(), arguments, command.Streams{Out: &out}); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		fmt.Fprintf(&all, "$ kinformer watch %s --once\n%s\n", args, &out)
	}
	text := synced.ReplaceAllString(ages.ReplaceAllString(all.String(), "1s"), "synced in X\n")
	clustertest.ExpectGolden(t, "once.txt", strings.ReplaceAll(text, server.URL(), "http://server"))
}

// TestOneListAndOneWatch counts the requests for the resource: one for its most recent version, a
// list not older than that, and a watch.
func TestOneListAndOneWatch(t *testing.T) {
	server := start(t)
	out := watchUntil(t, server, "added    web-1  ", func(out *terminaltest.Output) {
		server.Create(pod("kube-system", "proxy", "proxy", ""), pod("default", "web-2", "web", ""))
		out.WaitForText(t, "added    web-2  ")
	}, "pods")
	if strings.Contains(out, "kube-system") {
		t.Errorf("objects of another namespace in\n%s", out)
	}
	server.ExpectRequests("list pods limit=1 in default", "list pods limit= in default resourceVersion=8",
		"watch pods limit= in default resourceVersion=8")
}

// TestRequestsIncludeMetadata checks that the list and the watch ask for the metadata of each row.
func TestRequestsIncludeMetadata(t *testing.T) {
	server := start(t)
	var mu sync.Mutex // guards included
	included := map[string]string{}
	server.InjectFault(-1, func(r fake.APIRequest) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Resource != "" {
			included[r.Verb] = r.HTTP.URL.Query().Get("includeObject")
		}
		return false
	}, fake.RequestFault{})
	watchUntil(t, server, "added    web-1  ", func(out *terminaltest.Output) {
		server.Create(pod("default", "web-2", "web", ""))
		out.WaitForText(t, "added    web-2  ")
	}, "pods")
	mu.Lock()
	defer mu.Unlock()
	if want := map[string]string{"list": "Metadata", "watch": "Metadata"}; !maps.Equal(included, want) {
		t.Errorf("got includeObject %v, want %v", included, want)
	}
}

func TestLinesShowEachChange(t *testing.T) {
	server := start(t)
	text := watchUntil(t, server, "(initial list)", func(out *terminaltest.Output) {
		out.WaitForText(t, "added    default/web-1  ")
		out.WaitForText(t, "added    kube-system/dns  ")
		setStatus(t, server, pod("default", "db-1", "db", corev1.PodRunning))
		out.WaitForText(t, "updated  default/db-1  STATUS Pending -> Running")
		if err := server.Update(pod("default", "db-1", "other", corev1.PodRunning)); err != nil {
			t.Fatal(err)
		}
		out.WaitForText(t, "updated  default/db-1  no change in the columns shown")
		if err := server.Delete(pod("default", "web-1", "", "")); err != nil {
			t.Fatal(err)
		}
		out.WaitForText(t, "deleted  default/web-1\n")
		server.Create(pod("default", "web-2", "web", ""))
		out.WaitForText(t, "added    default/web-2  ")
	}, "pods", "-A")
	if want := "summary  3 pods; 4 added, 2 updated, 1 deleted; Stopped at resourceVersion 12, fresh "; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// watchUntil runs the command, calls steps once the text is printed, interrupts the command and
// returns its output.
func watchUntil(t *testing.T, server *clustertest.Server, text string, steps func(out *terminaltest.Output), args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := terminaltest.NewOutput(), make(chan error, 1)
	go func() { ended <- Run(ctx, append(args, "--server", server.URL()), command.Streams{Out: out}) }()
	out.WaitForText(t, text)
	steps(out)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestErrorsNameTheResource(t *testing.T) {
	server := start(t)
	for args, want := range map[string]string{
		"gadgets":                 `unknown resource "gadgets"; kubectl api-resources lists those of the server`,
		"pods nodes":              "name one resource, such as pods, not 2; see kinformer watch --help",
		"pods -o yaml":            `--output must be wide, not "yaml"; see kinformer watch --help`,
		"pods -A -n a":            "--namespace or --all-namespaces, not both; see kinformer watch --help",
		"pods -l a=b=c":           `--selector: found '=', expected: ',' or 'end of string'; see kinformer watch --help`,
		"pods --field-selector x": `--field-selector: invalid selector: 'x'; can't understand 'x'; see kinformer watch --help`,
		"pods --field-selector spec.unknown=x": "list pods in namespace default of " + server.URL() +
			`: list: field label not supported: spec.unknown`,
	} {
		err := Run(t.Context(), append(strings.Fields(args), "--once", "--server", server.URL()), command.Streams{Out: terminaltest.NewOutput()})
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
	}
}
