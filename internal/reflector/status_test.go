// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"reflect"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/fields"
)

// TestEveryFieldOfStatusIsAdded adds the status of a reflector with a more severe phase, and the
// other way round.
func TestEveryFieldOfStatusIsAdded(t *testing.T) {
	var severe Status
	fields.SetAll(&severe)
	severe.Phase = NotServed
	isFixed := map[string]bool{"ResourceVersion": true, "FreshAt": true}
	for _, sum := range []Status{(Status{Phase: Retrying}).Add(severe), severe.Add(Status{Phase: Retrying})} {
		for _, path := range fields.Leaves(reflect.TypeFor[Status]()) {
			got, want := fields.Of(&sum, path).Interface(), fields.Of(&severe, path).Interface()
			if isFixed[path] && sum.ResourceVersion == "" { // those of the first one
				continue
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
	}
	if sum := (Status{Phase: Watching}).Add(severe); sum.ResourceVersion != "" || !sum.FreshAt.IsZero() {
		t.Errorf("version %q, fresh at %v", sum.ResourceVersion, sum.FreshAt)
	}
}
