// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// countedProbes answers each probe after a second with the version "1", "2" and so on.
type countedProbes struct {
	Probes

	sent atomic.Int32
	err  error // of the first probe
}

func (c *countedProbes) startOne(ctx context.Context) (startAnswer, error) {
	return c.do(ctx, clock.RealClock{}, func(ctx context.Context) (startAnswer, error) {
		number := c.sent.Add(1)
		select {
		case <-time.After(time.Second): // in the bubble
		case <-ctx.Done():
			return startAnswer{}, ctx.Err()
		}
		if number == 1 && c.err != nil {
			return startAnswer{}, c.err
		}
		return startAnswer{version: fmt.Sprint(number)}, nil
	})
}

// expectVersion starts a reflector that must receive a version.
func (c *countedProbes) expectVersion(t *testing.T, version string) {
	t.Helper()
	go func() {
		if answer, err := c.startOne(t.Context()); answer.version != version || err != nil {
			t.Errorf("version %q, error %v, want %q", answer.version, err, version)
		}
	}()
	synctest.Wait()
}

// TestProbeServesReflectorsThatStartedBefore starts a reflector, many others during its probe, and
// one more during the second probe.
func TestProbeServesReflectorsThatStartedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := &countedProbes{}
		probes.expectVersion(t, "1")
		for range 499 {
			probes.expectVersion(t, "2")
		}
		<-time.After(time.Second + time.Millisecond)
		probes.expectVersion(t, "3")
		<-time.After(time.Minute)
		probes.expectVersion(t, "4")
		<-time.After(time.Minute)
		if sent := probes.sent.Load(); sent != 4 {
			t.Errorf("%d probes, want 4", sent)
		}
	})
}

// TestFailedProbeIsNotShared has a probe that fails while three reflectors wait for the next, whose
// sender stops.
func TestFailedProbeIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := &countedProbes{err: errors.New("refused")}
		go func() {
			if _, err := probes.startOne(t.Context()); !errors.Is(err, probes.err) {
				t.Errorf("error %v, want %v", err, probes.err)
			}
		}()
		synctest.Wait()
		stopped, stop := context.WithCancel(t.Context())
		go func() {
			if _, err := probes.startOne(stopped); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v of the sender that was stopped", err)
			}
		}()
		synctest.Wait()
		probes.expectVersion(t, "2")
		stop()
		synctest.Wait()
		probes.expectVersion(t, "3") // the one before sends its own, and this one waits for the first
		<-time.After(time.Minute)
		probes.mu.Lock()
		defer probes.mu.Unlock()
		if sent := probes.sent.Load(); sent != 3 || probes.running != nil || probes.next != nil {
			t.Errorf("%d probes, %v and %v are left", sent, probes.running, probes.next)
		}
	})
}

// TestHangingProbeDelaysOthersByTheirWaitOnly has a server that answers no probe.
func TestHangingProbeDelaysOthersByTheirWaitOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes Probes
		began := time.Now()
		for n := range 5 {
			go func() {
				_, err := probes.do(t.Context(), clock.RealClock{}, func(context.Context) (startAnswer, error) {
					<-time.After(probeTimeout)
					return startAnswer{}, ErrStalled
				})
				if took := time.Since(began); !errors.Is(err, ErrStalled) || took > 45*time.Second {
					t.Errorf("reflector %d: error %v after %v", n, err, took)
				}
			}()
			synctest.Wait()
		}
		<-time.After(10 * time.Minute)
	})
}

// TestServerThatIgnoresLimitIsProbedOnce checks what a probe of the whole collection saves others.
func TestServerThatIgnoresLimitIsProbedOnce(t *testing.T) {
	var probes Probes
	for range 2 {
		answer, err := probes.do(t.Context(), clock.RealClock{}, func(context.Context) (startAnswer, error) {
			if probes.ignoresLimit {
				t.Error("the server was probed again")
			}
			return startAnswer{version: "7", ignoresLimit: true}, nil
		})
		if !answer.ignoresLimit || err != nil {
			t.Errorf("answer %+v, %v", answer, err)
		}
	}
}
