// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

// TestProgramWithoutCluster runs the example against its own API server.
func TestProgramWithoutCluster(t *testing.T) {
	t.Parallel()
	p := program.Start(t, "-port", "0")
	url := urlOf(p)
	p.Expect("Synced")
	expect(t, url+"/nodes/node-1", http.StatusOK, `"name":"db-3","node":"node-1","phase":"Running","images":["db:1"]`)
	p.Stop()
}

// TestPodsAreFound runs the example against a server whose lists are held at first.
func TestPodsAreFound(t *testing.T) {
	t.Parallel()
	server, err := fake.StartAPIServer(fake.APIServerOptions{Token: "secret", TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	hold := make(chan struct{})
	server.InjectFault(-1, nil, fake.Fault{Hold: hold})
	web := pod("shop", "web", "west", "web:1", "sidecar:2")
	for _, pod := range []*corev1.Pod{web, pod("mail", "web", "west", "web:2"), pod("shop", "db", "east", "db:1"), pod("shop", "later", "")} {
		if err := server.Create(pod); err != nil {
			t.Fatal(err)
		}
	}
	web.Status.Phase = corev1.PodRunning
	if err := server.UpdateStatus(web); err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, "-port", "0", "-kubeconfig", program.Kubeconfig(t, server.Config()))
	base := urlOf(p)
	expect(t, base+"/nodes/west", http.StatusServiceUnavailable, "the Pods have not been listed yet\n")
	close(hold)
	p.Expect("Synced 4 Pods")
	const (
		mail = `{"namespace":"mail","name":"web","node":"west","phase":"Pending","images":["web:2"]}`
		db   = `{"namespace":"shop","name":"db","node":"east","phase":"Pending","images":["db:1"]}`
		shop = `{"namespace":"shop","name":"web","node":"west","phase":"Running","images":["web:1","sidecar:2"]}`
		none = `{"namespace":"shop","name":"later","phase":"Pending","images":[]}`
	)
	for path, want := range map[string]string{
		"/nodes/west":  "[" + mail + "," + shop + "]\n",
		"/nodes/north": "[]\n",
		"/pods?selector=" + url.QueryEscape("app=web,namespace!=mail"): "[" + shop + "]\n",
		"/pods?selector=app": "[" + strings.Join([]string{mail, db, none, shop}, ",") + "]\n",
		"/pods":              "[" + strings.Join([]string{mail, db, none, shop}, ",") + "]\n",
	} {
		expect(t, base+path, http.StatusOK, want)
	}
	expect(t, base+"/pods?selector=(", http.StatusBadRequest, "found '('")
	p.Stop()
}

// pod returns a Pod with a label of its name and its namespace.
func pod(namespace, name, node string, images ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name, "namespace": namespace}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
	for _, image := range images {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: image[:2], Image: image})
	}
	return p
}

// urlOf returns the URL that the program prints.
func urlOf(p *program.Program) string {
	_, address, _ := strings.Cut(p.Expect("Serving http://127.0.0.1:"), "http://")
	return "http://" + address
}

// expect checks the status and the body of an answer: with a line break at the end of want, the
// whole body, else a part.
func expect(t *testing.T, url string, status int, want string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if got := string(body); err != nil || response.StatusCode != status || !strings.Contains(got, want) || strings.HasSuffix(want, "\n") && got != want {
		t.Errorf("%s: %s, %v\n%s\nwant %d\n%s", url, response.Status, err, got, status, want)
	}
}
