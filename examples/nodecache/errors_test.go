package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
)

// answering returns the kubeconfig of a server that answers everything with one
// error.
func answering(t *testing.T, status metav1.Status) (file string) {
	t.Helper()
	status.Kind, status.APIVersion = "Status", "v1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		if err := json.NewEncoder(w).Encode(status); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfig(t, server.URL)
}

// closedPort returns an address on which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// Whatever is wrong with the cluster is one sentence, in the time that a person
// will wait.
func TestWhatIsWrongIsOneSentence(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("KUBECONFIG", missing)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	nodes := schema.GroupResource{Resource: "nodes"}
	forbidden := answering(t, apierrors.NewForbidden(nodes, "", errors.New(`User "eve" cannot list resource "nodes" in API group "" at the cluster scope`)).Status())
	unauthorized := answering(t, apierrors.NewUnauthorized("Unauthorized").Status())
	elsewhere := answering(t, apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "no such page", 0, true).Status())

	for _, tc := range []struct {
		name, args, want string
	}{
		{"no such file", "--kubeconfig /no/such/file", `the kubeconfig /no/such/file cannot be read: no such file or directory`},
		{"not YAML", "--kubeconfig " + writeFile(t, "a: [b"), `the kubeconfig cannot be read: error loading config file ".*/config": yaml: .*`},
		{"an empty file", "--kubeconfig " + writeFile(t, ""), `no cluster is configured: the kubeconfig \(.*/config\) is missing, empty or names no current context, and this is not a Pod`},
		{"no kubeconfig", "--cluster", `no cluster is configured: the kubeconfig \(.*/missing\) is missing, .*`},
		{"unknown context", "--context zzz --kubeconfig " + kubeconfig(t, "http://h"), `the kubeconfig \(.*\) cannot be used: there is no context "zzz", only here, lost`},
		{"unknown context, no file", "--context zzz", `the kubeconfig \(.*\) cannot be used: there is no context "zzz", nor any other`},
		{"unknown cluster", "--context lost --kubeconfig " + kubeconfig(t, "http://h"), `the kubeconfig \(.*\) cannot be used: the context "lost" is for the cluster "another", which is not there`},
		{"impossible address", "--kubeconfig " + kubeconfig(t, "http://[::1"), `the kubeconfig \(.*\) cannot be used: .*|cannot connect to .*`},
		{"forbidden", "--kubeconfig " + forbidden, `http://\S+ does not let you list its nodes: nodes is forbidden: User "eve" cannot list resource "nodes" in API group "" at the cluster scope`},
		{"unauthorized", "--kubeconfig " + unauthorized, `http://\S+ does not accept your credentials: Unauthorized`},
		{"no API server", "--kubeconfig " + elsewhere, `http://\S+ has no nodes to list, it seems to be no Kubernetes API server: the server could not find the requested resource`},
	} {
		for _, mode := range []string{"", "--once"} {
			t.Run(strings.TrimSpace(tc.name+" "+mode), func(t *testing.T) {
				began, prior := time.Now(), goleak.IgnoreCurrent()
				code, stderr := runAsync(t.Context(), newScreenText(), strings.Fields(tc.args+" "+mode)...)(t)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
				if code != 1 || !regexp.MustCompile(`^nodecache: (`+tc.want+`)\n$`).MatchString(stderr) {
					t.Errorf("exit code %d and\n%swant a sentence like\n%s", code, stderr, tc.want)
				}
				goleak.VerifyNone(t, prior) // the servers are still there: this sees connections that were left open
			})
		}
	}
}

// A server that cannot be reached may come back: it is tried three times.
func TestUnreachable(t *testing.T) {
	address := closedPort(t)
	config := kubeconfig(t, "http://"+address)
	began := time.Now()
	live := runAsync(t.Context(), newScreenText(), "--kubeconfig", config)
	once := runAsync(t.Context(), newScreenText(), "--kubeconfig", config, "--once")
	want := "nodecache: cannot reach http://" + address + ": dial tcp " + address + ": connect: connection refused\n"
	for _, wait := range []func(*testing.T) (int, string){live, once} {
		if code, stderr := wait(t); code != 1 || stderr != want {
			t.Errorf("exit code %d and\n%swant\n%s", code, stderr, want)
		}
	}
	if took := time.Since(began); took < time.Second || took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A server that accepts connections and says nothing is given up after ten
// seconds.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, controller := cache.NewInformer(&cache.ListWatch{
			ListFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("watched without a list")
			},
		}, &corev1.Node{}, 0, &tally{})
		nodes := &nodeCache{server: "http://silent", store: store, controller: controller}
		work := startWork(t.Context())
		work.start(controller.Run)
		began := time.Now()
		err := nodes.awaitSync(t.Context())
		if want := "http://silent has not answered within 10s"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if took := time.Since(began); took < firstWait || took > firstWait+time.Second {
			t.Errorf("it took %v", took)
		}
		if err := work.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"as it is,  ünchanged":  "as it is,  ünchanged",
		"two\nlines\r\n":        "two lines",
		"\x1b[2Jgone\a":         "[2Jgone",
		"a\tb\u200b\u202ec\x00": "a b c",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
