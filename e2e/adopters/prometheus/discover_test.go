// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
)

// TestDiscoveriesFindTheSameTargets runs all variants of the discovery beside each other. They find
// the targets that the discovery with client-go finds, initially and after changes.
func TestDiscoveriesFindTheSameTargets(t *testing.T) {
	t.Parallel()
	programs := map[string]string{}
	for _, v := range Variants() {
		path, _, err := Build(t.Context(), v, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		programs[v.Name] = path
	}
	for name, start := range map[string]func(*testing.T) *rest.Config{"fake": fakeServer, "kube-apiserver": realServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectSameTargets(t, start(t), programs)
		})
	}
}

func fakeServer(t *testing.T) *rest.Config {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.Config()
}

func realServer(t *testing.T) *rest.Config { return cluster.New(t, cluster.Options{}).Config() }

// podCount is the number of Pods of a discovery's initial list.
const podCount = 50

func expectSameTargets(t *testing.T, config *rest.Config, programs map[string]string) {
	t.Helper()
	ctx, client := t.Context(), kubernetes.NewForConfigOrDie(config)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "discovery"}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods(namespace.Name)
	for i := range podCount {
		createPod(t, client, namespace.Name, i)
	}
	kubeconfig, err := WriteKubeconfig(config, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	running := map[string]*discovery{}
	for name, path := range programs {
		running[name] = startDiscovery(t, path, kubeconfig)
	}
	await := func(what string, holds func(groups map[string]group) bool) {
		t.Helper()
		for name, d := range running {
			if groups := d.await(t, what, holds); name != ClientGo().Name {
				if diff := cmp.Diff(running[ClientGo().Name].await(t, what, holds), groups); diff != "" {
					t.Errorf("%s: %s: targets (-client-go +%s):\n%s", what, name, name, diff)
				}
			}
		}
	}
	await("the initial list", func(groups map[string]group) bool { return len(groups) == podCount })

	changed, err := pods.Get(ctx, "pod-00", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed.Labels["app"] = "changed"
	if _, err := pods.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("an update", func(groups map[string]group) bool {
		return groups["pod/discovery/pod-00"].Labels["__meta_kubernetes_pod_label_app"] == "changed"
	})
	now := int64(0)
	if err := pods.Delete(ctx, "pod-01", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	createPod(t, client, namespace.Name, podCount)
	await("a deletion and an addition", func(groups map[string]group) bool {
		_, added := groups[fmt.Sprintf("pod/discovery/pod-%02d", podCount)]
		_, deleted := groups["pod/discovery/pod-01"]
		return added && !deleted
	})
}

func createPod(t *testing.T, client kubernetes.Interface, namespace string, i int) {
	t.Helper()
	isController := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%02d", i), Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"example.com/index": fmt.Sprint(i)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web-uid", Controller: &isController}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.com/main:1", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
		}}},
	}
	pods := client.CoreV1().Pods(namespace)
	created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("10.0.0.%d", i+1) // a Pod without one has no targets
	created.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}}
	if _, err := pods.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// group is a line of the output of command discover.
type group struct {
	Source  string
	Targets []map[string]string
	Labels  map[string]string
}

// discovery is a running command discover and the target groups that it has printed.
type discovery struct {
	mu     sync.Mutex // guards the fields below
	groups map[string]group
	change chan struct{} // closed and replaced when groups changes
}

// startDiscovery runs a program until the end of the test.
func startDiscovery(t *testing.T, path, kubeconfig string) *discovery {
	t.Helper()
	d := &discovery{groups: map[string]group{}, change: make(chan struct{})}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), path, "-kubeconfig", kubeconfig)
	var log bytes.Buffer
	command.Stderr = &log
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	finished := make(chan error, 1)
	go func() { finished <- d.read(stdout) }()
	t.Cleanup(func() {
		_ = stdin.Close() // ends the program
		if err := <-finished; err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := command.Wait(); err != nil || strings.Contains(log.String(), "not read from the stream") {
			t.Errorf("%s: %v, want no error, and streaming if it is enabled\n%s", path, err, log.Bytes())
		}
	})
	return d
}

func (d *discovery) read(from io.Reader) error {
	for lines := bufio.NewScanner(from); ; {
		if !lines.Scan() {
			return lines.Err()
		}
		var g group
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			return fmt.Errorf("%w: %s", err, lines.Bytes())
		}
		d.set(g)
	}
}

// set replaces a group. A group without targets is gone.
func (d *discovery) set(g group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.groups[g.Source] = g; len(g.Targets) == 0 {
		delete(d.groups, g.Source)
	}
	close(d.change)
	d.change = make(chan struct{})
}

func (d *discovery) snapshot() (groups map[string]group, change <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.groups), d.change
}

// await returns the groups once a condition holds.
func (d *discovery) await(t *testing.T, what string, holds func(groups map[string]group) bool) map[string]group {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		groups, change := d.snapshot()
		if holds(groups) {
			return groups
		}
		select {
		case <-change:
		case <-timeout:
			t.Fatalf("%s: not discovered in time; the discovery has %d groups", what, len(groups))
		}
	}
}
