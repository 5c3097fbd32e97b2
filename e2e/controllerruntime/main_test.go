// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"os"
	"testing"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) {
	log.SetLogger(klog.Background()) // otherwise it logs a warning with a stack trace
	os.Exit(goroutines.Verify(m.Run()))
}
