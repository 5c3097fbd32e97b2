// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// retryStale updates a ConfigMap from an old copy, again and again.
func retryStale(ctx context.Context, client kubernetes.Interface) error {
	for ctx.Err() == nil {
		_ = putStale(ctx, client)
	}
	return nil
}

// setTo sets the data of a ConfigMap.
func setTo(value string) reconcileFunc {
	return func(ctx context.Context, c *copier, _ string) error {
		current, err := c.configMaps.ConfigMaps("default").Get("a")
		if err != nil || current.Data["key"] == value {
			return err
		}
		changed := current.DeepCopy()
		changed.Data = map[string]string{"key": value}
		_, err = c.client.CoreV1().ConfigMaps("default").Update(ctx, changed, metav1.UpdateOptions{})
		return err
	}
}

// undoEachOther is a program of two controllers, each of which undoes what the other one does.
func undoEachOther(ctx context.Context, config *rest.Config) error {
	done := make(chan error)
	go func() { done <- start(setTo("1"))(ctx, config) }()
	return errors.Join(start(setTo("2"))(ctx, config), <-done)
}

func TestUpdatesThatUndoEachOtherAreReported(t *testing.T) {
	found := simulate.Find(t, simulate.Test{Start: undoEachOther, Objects: []fake.Object{source("1")}}, 1)
	wantFound(t, found, "rest", "does not come to rest: 5054 requests and events in 50s\n  1682 times update of configmaps default/a\n")
	wantReport(t, found, `        0s  steps      settle
        0s  process 1  watch of configmaps (2 times), secrets (2 times) at version 2
        0s  process 1  receives ADDED ConfigMap default/a at version 2
        0s  process 1  receives ADDED ConfigMap default/a at version 2
        0s  process 1  receives BOOKMARK Secret (2 times), ConfigMap (2 times) at version 2
        0s  process 1  1st update of configmaps default/a at version 3
       50s             this line 1681 times more
`)
}

const livelockReport = `the program does not come to rest: 5051 requests and events in 50s
  409, 5051 times: update of configmaps default/a

Timeline:
        0s  steps      settle
        0s  process 1  1st update of configmaps default/a: 409 Conflict
       50s             this line 5050 times more

Replay it by
  simulate.Replay(t, test, 0)
or by
  go test -run '^TestLivelockIsReported$' -simulate.replay '0'
It failed again in 1 of 1 repeats.
`

// The second call of Start is that of the repeat: a test that ends in it, as one at its timeout,
// has printed what was found.
func TestLivelockIsReported(t *testing.T) {
	const first = "TestLivelockIsReported: found in run 1: the program does not come to rest: 5051 requests and events in 50s (-simulate.replay '0')\n"
	mode, starts := os.Getenv("LIVELOCK_TEST"), 0
	if mode != "" {
		simulate.Run(t, simulate.Test{Objects: []fake.Object{source("1")}, Start: func(ctx context.Context, config *rest.Config) error {
			if starts++; starts == 2 && mode == "exit" {
				os.Exit(3)
			}
			return withClient(retryStale)(ctx, config)
		}})
		return
	}
	for mode, report := range map[string]string{"exit": "", "report": livelockReport} {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestLivelockIsReported$", "-test.timeout", "60s")
		command.Env = append(os.Environ(), "LIVELOCK_TEST="+mode)
		output, _ := command.CombinedOutput() // it fails
		text, isAnnounced := strings.CutPrefix(string(output), first)
		if !isAnnounced || !strings.Contains(strings.ReplaceAll(text, "\n        ", "\n"), report) {
			t.Errorf("%s: got\n%s\nwant first\n%s and in it\n%s", mode, output, first, report)
		}
	}
}

// A run is given up after ten times what the undisturbed one takes, and 1,000 writes and events.
func TestLivelockAfterDisturbanceIsGivenUpEarly(t *testing.T) {
	program := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		if err := createSecret(ctx, client, "default", "a"); apierrors.IsAlreadyExists(err) {
			return retryStale(ctx, client)
		}
		<-ctx.Done()
		return nil
	})
	found := simulate.RunPlan(t, simulate.Test{Start: program, Objects: []fake.Object{source("1")}}, 0, simulate.Crash{After: "1st create of secrets default/a"})
	wantFound(t, found, "rest", "does not come to rest: 1011 requests and events in 10s\n  409, 1009 times: update of configmaps default/a\n")
}

// A program that waits for a state by reading it is at rest all the same.
func TestReadsOnTimerAreNoLivelock(t *testing.T) {
	program := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		return every(ctx, 200*time.Millisecond, func() {
			_, _ = client.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
		})
	})
	test := simulate.Test{Start: program, Objects: []fake.Object{source("1")}, Without: []simulate.Oracle{simulate.EndState}}
	wantFound(t, simulate.Find(t, test, 2), "")
}

// Each object that is there at the beginning may take some requests and events.
func TestManyObjectsAreNoLivelock(t *testing.T) {
	test := copying(copyConfigMap)
	for i := range 1800 {
		obj := source("1")
		obj.Name = fmt.Sprintf("b-%d", i)
		test.Objects = append(test.Objects, obj)
	}
	wantFound(t, simulate.Find(t, test, 1), "")
}

func TestLongTimelineKeepsItsBeginning(t *testing.T) {
	program := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		for i := range 150 {
			if err := createSecret(ctx, client, "default", fmt.Sprint("b-", i+1)); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	})
	lines := strings.Split(simulate.RunPlan(t, simulate.Test{Start: program}, 0).Report, "\n")
	want := map[int]string{
		0: "        0s  steps      settle", 29: "        0s  process 1  1st create of secrets default/b-29 at version 30",
		30: "        0s             52 lines are left out", 31: "        0s  process 1  1st create of secrets default/b-82 at version 83",
	}
	for i, line := range want {
		if lines[i] != line {
			t.Errorf("line %d: got %q, want %q", i+1, lines[i], line)
		}
	}
}
