// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// failingServer returns the kubeconfig of a server that answers every request with an error.
func failingServer(t *testing.T, status metav1.Status) (file string) {
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
	return kubeconfigFile(t, server.URL)
}

// closedPort returns an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// An unusable cluster or kubeconfig is reported in one line within two seconds.
func TestErrorsAreReportedInOneLine(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("KUBECONFIG", missing)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	valid := kubeconfigFile(t, "http://h")
	nodes := schema.GroupResource{Resource: "nodes"}
	forbidden := failingServer(t, apierrors.NewForbidden(nodes, "", errors.New(`User "eve" cannot list resource "nodes" in API group "" at the cluster scope`)).Status())
	unauthorized := failingServer(t, apierrors.NewUnauthorized("Unauthorized").Status())
	noAPIServer := failingServer(t, apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "no such page", 0, true).Status())

	for _, tc := range []struct {
		name, args, want string
	}{
		{"missing file", "--kubeconfig /no/such/file", `read kubeconfig /no/such/file: no such file or directory`},
		{"directory", "--kubeconfig " + t.TempDir(), `read kubeconfig /\S+: is a directory`},
		{"not YAML", "--kubeconfig " + writeFile(t, "a: [b"), `malformed kubeconfig: /\S+/config is not a valid kubeconfig: yaml: .*`},
		{"wrong type", "--kubeconfig " + writeFile(t, "clusters: none"), `malformed kubeconfig: /\S+/config is not a valid kubeconfig: .*cannot unmarshal.*`},
		{"wrong kind", "--kubeconfig " + writeFile(t, "{apiVersion: v1, kind: Pod}"), `malformed kubeconfig: /\S+/config is not a valid kubeconfig: .*"Pod".*`},
		{
			"empty file", "--kubeconfig " + writeFile(t, ""),
			`no cluster configured: kubeconfig \(.*/config\) is missing, empty or has no current context, and this process is not in a Pod`,
		},
		{"no kubeconfig", "--cluster", `no cluster configured: kubeconfig \(.*/missing\) is missing, .*`},
		{"unknown context", "--context zzz --kubeconfig " + valid, `invalid kubeconfig \(.*\): context "zzz" not found, available contexts: here, lost`},
		{"unknown context, no file", "--context zzz", `invalid kubeconfig \(.*\): context "zzz" not found, available contexts: <none>`},
		{"unknown cluster", "--context lost --kubeconfig " + valid, `invalid kubeconfig \(.*\): cluster "another" of context "lost" not found`},
		{"invalid address", "--kubeconfig " + kubeconfigFile(t, "http://[::1"), `invalid kubeconfig \(.*\): .*|connect to .*`},
		{
			"forbidden", "--kubeconfig " + forbidden,
			`list nodes of http://\S+: permission denied: nodes is forbidden: User "eve" cannot list resource "nodes" in API group "" at the cluster scope`,
		},
		{"unauthorized", "--kubeconfig " + unauthorized, `list nodes of http://\S+: credentials rejected: Unauthorized`},
		{
			"not an API server", "--kubeconfig " + noAPIServer,
			`list nodes of http://\S+: no such resource, probably not a Kubernetes API server: the server could not find the requested resource`,
		},
	} {
		for _, mode := range []string{"", "--once"} {
			t.Run(strings.TrimSpace(tc.name+" "+mode), func(t *testing.T) {
				began, prior := time.Now(), goleak.IgnoreCurrent()
				code, stderr := runAsync(t.Context(), terminaltest.NewOutput(), strings.Fields(tc.args+" "+mode)...)(t)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("took %v, want at most 2s", took)
				}
				if code != 1 || !regexp.MustCompile(`^nodecache: (`+tc.want+`)\n$`).MatchString(stderr) {
					t.Errorf("got exit code %d and\n%swant 1 and a match of\n%s", code, stderr, tc.want)
				}
				goleak.VerifyNone(t, prior) // the server still runs: detects open connections
			})
		}
	}
}

// An unreachable server may be restarting, so the program tries it three times.
func TestUnreachableServerIsRetried(t *testing.T) {
	address := closedPort(t)
	config := kubeconfigFile(t, "http://"+address)
	want := "nodecache: connect to http://" + address + ": dial tcp " + address + ": connect: connection refused\n"
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		live := runAsync(t.Context(), terminaltest.NewOutput(), "--kubeconfig", config)
		once := runAsync(t.Context(), terminaltest.NewOutput(), "--kubeconfig", config, "--once")
		for _, wait := range []func(*testing.T) (int, string){live, once} {
			if code, stderr := wait(t); code != 1 || stderr != want {
				t.Errorf("got exit code %d and\n%swant 1 and\n%s", code, stderr, want)
			}
		}
		if took := time.Since(began); took < time.Second || took > 8*time.Second {
			t.Errorf("took %v, want between 1s and 8s", took)
		}
	})
}
