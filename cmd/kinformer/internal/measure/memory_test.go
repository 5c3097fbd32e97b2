// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
)

// TestMemoryIsEstimated compares the estimate with the objects that need the most for their size.
func TestMemoryIsEstimated(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs more memory")
	}
	for name, c := range map[string]*collection.Collection{
		"custom resources of many fields": widgetsWithFields(10_000, 20),
		"small objects":                   configMaps(t, 50_000, runtime.ContentTypeProtobuf),
	} {
		estimate := measure.PeakMemory(int64(len(c.Items)), c.WireBytes, c.ContentType)
		result, err := measure.Run(t.Context(), c, measure.ClientGo, 0)
		if err != nil {
			t.Fatal(err)
		}
		if peak := result.PeakRSSBytes; peak > 0 && (estimate < peak || estimate > 4*peak) {
			t.Errorf("%s: estimate of %d MB, measured %d MB", name, estimate>>20, peak>>20)
		}
	}
}

// widgetsWithFields returns custom resources whose fields take more memory than bytes.
func widgetsWithFields(n, fields int) *collection.Collection {
	c := widgets(n)
	for i := range c.Items {
		var spec []string
		for j := range fields {
			spec = append(spec, fmt.Sprintf(`"f%d":{"a":%d,"b":"x%d","c":[1,2]}`, j, i, j))
		}
		text := strings.Replace(string(c.Items[i]), `"spec":{`, `"spec":{`+strings.Join(spec, ",")+",", 1)
		c.Items[i] = []byte(text)
		c.WireBytes += int64(len(text))
	}
	return c
}
