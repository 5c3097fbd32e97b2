// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the controllers log a lot
	// The second handler sleeps to limit the rate of errors, based on the time at the start of the
	// process, which is decades ahead of the clock of a synctest bubble: reporting an error there
	// would never return.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // the only way
	os.Exit(goroutines.Verify(m.Run()))
}
