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
	"sync/atomic"
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
	busy    bool // no test can run after it
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
	"channel": {
		start: func(ctx context.Context, _ *rest.Config) error {
			simulate.ShortenWatchdog(time.Second)
			<-outside
			<-ctx.Done()
			return nil
		},
		want: "a goroutine of the program waits for something outside of the bubble",
	},
	"loop": {
		start: func(context.Context, *rest.Config) error {
			simulate.ShortenWatchdog(time.Second)
			spin()
			return nil
		},
		want: "for 1s: a goroutine runs without end",
		busy: true,
	},
	"loop outside": {
		start: func(ctx context.Context, _ *rest.Config) error {
			simulate.ShortenWatchdog(time.Second)
			<-ctx.Done()
			return nil
		},
		outside: spin,
		want:    "a goroutine outside of the bubble runs without end",
		busy:    true,
	},
}

var (
	outside = make(chan struct{}) // of any bubble
	resumed atomic.Bool           // the run of a stuck program goes on
)

// spin does not return.
func spin() {
	for {
		runtime.Gosched()
	}
}

// Each program has a process of its own, which the watchdog ends if it runs without end.
func TestWatchdogExplainsStuckPrograms(t *testing.T) {
	if name := os.Getenv("STUCK_PROGRAM"); name != "" {
		if outside := stuck[name].outside; outside != nil {
			go outside()
		}
		simulate.Run(t, simulate.Test{Start: stuck[name].start, Steps: func(*simulate.World) { resumed.Store(true) }})
		return
	}
	for name, program := range stuck {
		t.Run(name, func(t *testing.T) {
			text := failStuck(t, "STUCK_PROGRAM="+name, "TestWatchdogExplainsStuckPrograms", "TestProgramPassesAfterStuckProgram")
			want := []string{program.want, "watchdog_test.go", "-simulate.replay '0'", "--- FAIL: TestWatchdogExplainsStuckPrograms"}
			if program.busy {
				want = append(want, "later tests of the package did not run")
			} else {
				want = append(want, "--- PASS: TestProgramPassesAfterStuckProgram")
			}
			for _, want := range want {
				if !strings.Contains(text, want) {
					t.Errorf("got\n%s\nwant %q", text, want)
				}
			}
			wantProgramFrames(t, text)
		})
	}
}

// failStuck runs tests in a process of its own, and returns its output.
func failStuck(t *testing.T, env string, tests ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	command.Env = append(os.Environ(), env, "TMPDIR="+t.TempDir())
	output, err := command.CombinedOutput()
	if err == nil {
		t.Errorf("got no failure in\n%s", output)
	}
	return string(output)
}

// A run without progress is abandoned. A simulation runs beside it, and it does not run on when
// what it waits for comes.
func TestProgramPassesAfterStuckProgram(t *testing.T) {
	simulate.ShortenWatchdog(0)
	simulate.Replay(t, copying(copyConfigMap), 7, simulate.Crash{After: "1st create of secrets default/a"})
	close(outside)
	simulate.WaitUntilAllAreBlocked()
	if resumed.Load() {
		t.Error("the abandoned run goes on")
	}
}

// A goroutine that an abandoned run has left does not explain another run.
func TestWatchdogExplainsItsOwnRun(t *testing.T) {
	if os.Getenv("STUCK_PROGRAMS") != "" {
		for _, name := range []string{"port", "channel"} {
			t.Run(name, func(t *testing.T) { simulate.Run(t, simulate.Test{Start: stuck[name].start}) })
		}
		return
	}
	text := failStuck(t, "STUCK_PROGRAMS=yes", "TestWatchdogExplainsItsOwnRun")
	for _, name := range []string{"port", "channel"} {
		if !strings.Contains(text, stuck[name].want) {
			t.Errorf("got\n%s\nwant %q", text, stuck[name].want)
		}
	}
}

// wantProgramFrames requires that a report has no frames of the simulation and of the libraries,
// and names a file that has them.
func wantProgramFrames(t *testing.T, report string) {
	t.Helper()
	_, file, ok := strings.Cut(report, "The whole stacks are in ")
	if !ok {
		t.Fatalf("no file is named in\n%s", report)
	}
	file, _, _ = strings.Cut(file, "\n")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range []string{"simulate.(*", "runtime.", "simulate_test.TestWatchdogExplainsStuckPrograms("} {
		if strings.Contains(report, "\n"+frame) || strings.Contains(report, "/"+frame) {
			t.Errorf("got a frame of %q in\n%s", frame, report)
		}
	}
	if !strings.Contains(string(whole), "simulate.(*scheduler)") {
		t.Errorf("got file %s\n%s\nwant all frames", file, whole)
	}
}
