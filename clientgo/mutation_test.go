// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestMutationDetector checks that a write into a cached object ends the process if
// KUBE_CACHE_MUTATION_DETECTOR is set. The test runs itself in a second process, because client-go
// reads the variable when the process starts.
func TestMutationDetector(t *testing.T) {
	const variable = "KUBE_CACHE_MUTATION_DETECTOR"
	if os.Getenv(variable) != "" {
		synctest.Test(t, func(t *testing.T) {
			h := run(t, newServer("a"), clientgo.Options{})
			obj, _, _ := h.informer.GetStore().GetByKey("ns/a")
			cachetest.WithLabel("written", "into the cache")(obj.(*corev1.Pod))
			<-time.After(time.Minute)
		})
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutationDetector$")
	child.Env = append(os.Environ(), variable+"=true")
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "ALTERED") || !strings.Contains(string(out), "*v1.Pod") {
		t.Errorf("the process ended with %v and the output\n%s", err, out)
	}
}
