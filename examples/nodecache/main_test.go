// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	silenceKlog()
	goleak.VerifyTestMain(m)
}

func TestSilenceKlogDiscardsOutput(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = write
	klog.Error("noise")
	klog.FromContext(t.Context()).Error(nil, "noise")
	klog.Flush()
	os.Stderr = stderr
	write.Close()
	if got, err := io.ReadAll(read); err != nil || len(got) > 0 {
		t.Errorf("klog wrote %q (%v)", got, err)
	}
}
