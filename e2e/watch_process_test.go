// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/e2e/objects"
)

// TestWatchProcess runs "kinformer watch" as users do, against a kube-apiserver, which prints the
// columns.
func TestWatchProcess(t *testing.T) {
	t.Parallel()
	c := shared(t)
	clientset := clientsetFor(t, c)
	ns := namespace(t, clientset)
	program, kubeconfig := buildKinformer(t), writeKubeconfig(t, c)

	t.Run("Pods", func(t *testing.T) {
		life := objects.NewLife(clientset, seed)
		p := startProcess(t, program, "watch", "po", "--namespace", ns, "--kubeconfig", kubeconfig)
		p.expect(t, "summary", "0 pods")
		pod, err := life.Run(t.Context(), objects.NewWorkload(seed, 0, ns).Pod(0), objects.NodeName(0))
		if err != nil {
			t.Fatal(err)
		}
		p.expect(t, "added", pod.Name, "Pending")
		p.expect(t, "updated", pod.Name, "STATUS Pending -> Running")
		if err := life.Delete(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		p.expect(t, "deleted", pod.Name)
		p.interrupt(t)
	})
	t.Run("custom resources", func(t *testing.T) {
		client, err := dynamic.NewForConfig(c.Config())
		if err != nil {
			t.Fatal(err)
		}
		widgets := defineWidgets(t, client, "watch.example.com")
		p := startProcess(t, program, "watch", "widgets.watch.example.com", "-n", ns, "--kubeconfig", kubeconfig)
		p.expect(t, "summary", "0 widgets")
		widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": widgets.GroupVersion().String(), "kind": "Widget"}}
		widget.SetName("lid")
		createUnstructured(t, client.Resource(widgets).Namespace(ns), widget)
		p.expect(t, "added", "lid")
		p.interrupt(t)
	})
	t.Run("once", func(t *testing.T) {
		for i := range 3 {
			create(t, clientset.CoreV1().ConfigMaps(ns).Create, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint("config-", i), Labels: map[string]string{"even": fmt.Sprint(i%2 == 0)},
			}})
		}
		out, err := exec.CommandContext(t.Context(), program, "watch", "cm", "--kubeconfig", kubeconfig, "-n", ns, "-l", "even=true", "--once").CombinedOutput()
		want := regexp.MustCompile(`^NAME +DATA +AGE\nconfig-0 +0 +\d+s\nconfig-2 +0 +\d+s\n\n2 configmaps; resourceVersion \d+ of https://127`)
		if err != nil || !want.Match(out) {
			t.Errorf("%v, output:\n%s\nwant %s", err, out, want)
		}
	})
}
