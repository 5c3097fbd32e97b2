// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/internal/tap"
)

// TestGateIsClosedAfterARunningPush checks that a request is not given up while it passes on an
// item.
func TestGateIsClosedAfterARunningPush(t *testing.T) {
	var g gate
	var closed atomic.Bool
	done := make(chan struct{})
	_ = g.push(func() error {
		go func() {
			defer close(done)
			g.close()
			closed.Store(true)
		}()
		for range 1000 {
			runtime.Gosched()
		}
		if closed.Load() {
			t.Error("close has returned during a push")
		}
		return nil
	})
	<-done
}

// TestClosedGatePassesNothing pushes through an open gate and a closed one.
func TestClosedGatePassesNothing(t *testing.T) {
	var g gate
	pushed := errors.New("pushed")
	if err := g.push(func() error { return pushed }); !errors.Is(err, pushed) {
		t.Errorf("push returned %v", err)
	}
	g.close()
	g.close()
	err := g.push(func() error {
		t.Error("a closed gate called the function")
		return nil
	})
	if !errors.Is(err, errGateClosed) {
		t.Errorf("push returned %v", err)
	}
}

// modeReader is the output of a log whose entries read a source's mode, as a log of a program may.
type modeReader struct{ mode *mode }

func (r modeReader) Write(p []byte) (int, error) {
	r.mode.get()
	return len(p), nil
}

// TestModeIsReadableWhileItIsLogged reads the mode in each entry about its changes.
func TestModeIsReadableWhileItIsLogged(t *testing.T) {
	m := &mode{}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(modeReader{m}), textlogger.Verbosity(2)))
	ctx := klog.NewContext(t.Context(), logger)
	m.markStreaming(logger)
	m.record(ctx, tap.Response{}, nil)
	m.disable(logger, reasonKindName)
	m.markStreaming(logger) // by a response in flight
	if streaming, reason := m.get(); streaming || reason != reasonKindName || !m.isDisabled() {
		t.Errorf("streaming %v, %q", streaming, reason)
	}
}
