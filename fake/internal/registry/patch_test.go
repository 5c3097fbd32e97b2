// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// operations returns a JSON patch of n operations.
func operations(n int, operation func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = operation(i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

func copyTo(from, path string) string {
	return fmt.Sprintf(`{"op":"copy","from":%q,"path":%q}`, from, path)
}

// A JSON patch has at most 10,000 operations, and copies at most 3 MiB. A short one must not take
// much more memory.
func TestJSONPatchIsLimited(t *testing.T) {
	const short, maxAllocated = 4 << 10, 128 << 20                                              // bytes
	mebibyte := `{"op":"add","path":"/data/v0","value":"` + strings.Repeat("x", 1<<20-2) + `"}` // 1 MiB with its quotes
	for name, tc := range map[string]struct {
		patch string
		code  int32 // 0 for a patch that is applied
	}{
		"10,000 operations": {operations(10_000, func(int) string { return `{"op":"test","path":"/kind","value":"ConfigMap"}` }), 0},
		"10,001 operations": {operations(10_001, func(int) string { return `{"op":"test","path":"/kind","value":"ConfigMap"}` }), http.StatusRequestEntityTooLarge},
		"10,000 copies":     {operations(10_000, func(int) string { return copyTo("/kind", "/data/k") }), 0},
		"3 MiB copied": {operations(4, func(i int) string {
			if i == 0 {
				return mebibyte
			}
			return copyTo("/data/v0", fmt.Sprintf("/data/v%d", i))
		}), 0},
		"4 MiB copied": {operations(5, func(i int) string {
			if i == 0 {
				return mebibyte
			}
			return copyTo("/data/v0", fmt.Sprintf("/data/v%d", i))
		}), http.StatusUnprocessableEntity},
		"4 MiB copied to one place": {operations(5, func(i int) string {
			if i == 0 {
				return mebibyte
			}
			return copyTo("/data/v0", "/data/v1")
		}), http.StatusUnprocessableEntity},
		"4 MiB copied and removed": {operations(9, func(i int) string {
			switch {
			case i == 0:
				return mebibyte
			case i%2 == 0:
				return `{"op":"remove","path":"/data/v1"}`
			}
			return copyTo("/data/v0", "/data/v1")
		}), http.StatusUnprocessableEntity},
		"one doubled field":     {operations(16, func(i int) string { return copyTo("/metadata", fmt.Sprintf("/metadata/x%d", i)) }), http.StatusUnprocessableEntity},
		"a doubled object":      {operations(16, func(i int) string { return copyTo("/data", fmt.Sprintf("/data/x%d", i)) }), http.StatusUnprocessableEntity},
		"a doubled list":        {`[{"op":"add","path":"/list","value":["` + strings.Repeat("x", 100) + `"]},` + operations(16, func(int) string { return copyTo("/list", "/list/-") })[1:], http.StatusUnprocessableEntity},
		"a list doubled inside": {`[{"op":"add","path":"/list","value":["` + strings.Repeat("x", 100) + `"]},` + operations(16, func(int) string { return copyTo("/list", "/list/0") })[1:], http.StatusUnprocessableEntity},
		"two doubled fields": {operations(24, func(i int) string {
			return copyTo([]string{"/metadata", "/data"}[i%2], fmt.Sprintf("%s/x%d", []string{"/data", "/metadata"}[i%2], i))
		}), http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) { // not in parallel: it measures the memory of the process
			s := newServer(t)
			s.must(second(s.configMaps.Create("ns", &corev1.ConfigMap{ObjectMeta: inNS("a"), Data: map[string]string{"k": strings.Repeat("v", 100)}}, Checked)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := s.configMaps.Patch("ns", "a", types.JSONPatchType, []byte(tc.patch), (*Store).Update, DryRun)
			runtime.ReadMemStats(&after)
			if tc.code == 0 && err != nil {
				t.Errorf("got %v", err)
			}
			if status, ok := err.(apierrors.APIStatus); tc.code != 0 && (!ok || status.Status().Code != tc.code) {
				t.Errorf("got %.200v, want code %d", err, tc.code)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; len(tc.patch) < short && allocated > maxAllocated {
				t.Errorf("a patch of %d bytes allocated %d MiB", len(tc.patch), allocated>>20)
			}
		})
	}
}
