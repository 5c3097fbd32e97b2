// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/simulate"
)

// stuck are programs that a bubble cannot run, and what the watchdog says of them. They shorten its
// period when they are about to be stuck: it must not end a process that starts slowly.
var stuck = map[string]struct {
	start   func(context.Context, *rest.Config) error
	outside func() // is called outside of the bubble, in a goroutine
	want    string
}{
	"port": {
		start: func(ctx context.Context, _ *rest.Config) error {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			simulate.ShortenWatchdog(time.Second)
			_, err = listener.Accept()
			return err
		},
		want: "a goroutine waits for the network",
	},
	"mutex": {
		start: func(ctx context.Context, _ *rest.Config) error {
			var mu sync.Mutex
			go func() {
				mu.Lock()
				defer mu.Unlock()
				time.Sleep(time.Hour)
			}()
			time.Sleep(time.Second)
			simulate.ShortenWatchdog(time.Second)
			mu.Lock()
			defer mu.Unlock()
			<-ctx.Done()
			return nil
		},
		want: "a goroutine waits for a mutex",
	},
	"loop": {
		start: func(context.Context, *rest.Config) error {
			simulate.ShortenWatchdog(time.Second)
			spin()
			return nil
		},
		want: "for 1s: a goroutine runs without end",
	},
	"loop outside": {
		start: func(ctx context.Context, _ *rest.Config) error {
			simulate.ShortenWatchdog(time.Second)
			<-ctx.Done()
			return nil
		},
		outside: spin,
		want:    "a goroutine outside of the bubble runs without end",
	},
}

// spin does not return.
func spin() {
	for {
		runtime.Gosched()
	}
}

// The watchdog ends the process, so that each program has one of its own.
func TestWatchdogExplainsStuckPrograms(t *testing.T) {
	if name := os.Getenv("STUCK_PROGRAM"); name != "" {
		if outside := stuck[name].outside; outside != nil {
			go outside()
		}
		simulate.Run(t, simulate.Test{Start: stuck[name].start})
		return
	}
	for name, program := range stuck {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWatchdogExplainsStuckPrograms$")
			command.Env = append(os.Environ(), "STUCK_PROGRAM="+name)
			output, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(output), program.want) || !strings.Contains(string(output), "watchdog_test.go") {
				t.Errorf("got error %v and output\n%s\nwant %q and the stack", err, output, program.want)
			}
		})
	}
}
