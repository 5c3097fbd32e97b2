// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import "testing"

func TestKindsOfFailures(t *testing.T) {
	for _, test := range []struct {
		clientGo, kinformer, runs int
		want                      string
	}{
		{1, 1, 1, failsOnBoth},
		{3, 3, 3, failsOnBoth},
		{1, 0, 3, flakyWithout},
		{2, 3, 3, flakyWithout},
		{0, 1, 3, differs},
		{0, 3, 3, differs},
		{3, 0, 3, differs},
		{3, 2, 3, differs},
	} {
		if got := (failure{ClientGo: test.clientGo, Kinformer: test.kinformer}).kind(test.runs); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}
