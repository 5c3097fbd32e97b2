// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(name, uid, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: image}}},
	}
}

// TestMerge checks the updates of two sources, whose Pods may have the same names.
func TestMerge(t *testing.T) {
	c := newPodConfig()
	for _, step := range []struct {
		set  podSet
		want []string
	}{
		{podSet{"api", []*corev1.Pod{pod("b", "2", "x"), pod("a", "1", "x")}}, []string{"api SET a b"}},
		{podSet{"file", nil}, []string{"file SET"}},
		{podSet{"file", []*corev1.Pod{pod("a", "3", "x")}}, []string{"file ADD a"}},
		{podSet{"api", []*corev1.Pod{pod("a", "1", "x"), pod("b", "2", "x")}}, nil},
		{podSet{"api", []*corev1.Pod{pod("a", "9", "x"), pod("b", "2", "y"), pod("c", "4", "x")}}, []string{"api DELETE a", "api ADD a c", "api UPDATE b"}},
		{podSet{"api", nil}, []string{"api DELETE a b c"}},
	} {
		var got []string
		for _, u := range c.merge(step.set) {
			words := []string{u.source, string(u.op)}
			for _, pod := range u.pods {
				words = append(words, pod.Name)
			}
			got = append(got, strings.Join(words, " "))
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("updates %q, want %q", got, step.want)
		}
	}
}

// TestMalformedManifestIsNamed checks the errors of a folder with a manifest that cannot be read.
func TestMalformedManifestIsNamed(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML":      "{",
		"another kind": "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n",
		"unknown kind": "apiVersion: v9\nkind: Pod\n",
		"no name":      "apiVersion: v1\nkind: Pod\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := &folderSource{folder: t.TempDir(), node: "n"}
			if err := os.WriteFile(filepath.Join(s.folder, "good.yaml"), []byte(manifest("good", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if pods, err := s.read(); err != nil || len(pods) != 1 || pods[0].Name != "good-n" || pods[0].Annotations[configSource] != "file" {
				t.Fatalf("read returned %v, %v", pods, err)
			}
			if err := os.WriteFile(filepath.Join(s.folder, "bad.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if pods, err := s.read(); err == nil || !strings.Contains(fmt.Sprint(err), "bad.yaml") {
				t.Errorf("read returned %d Pods, %v; the error must name bad.yaml", len(pods), err)
			}
		})
	}
}
