// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/simulate"
)

var (
	programs = flag.Int("programs", 60, "number of random programs")
	first    = flag.Uint64("first", 1, "seed of the first program")
)

// steps is the number of steps of a program.
const steps = 15

// TestActorsEndAsControllers runs random programs with the controllers and with the actors.
func TestActorsEndAsControllers(t *testing.T) {
	if err := flag.Set("simulate.runs", "1"); err != nil {
		t.Fatal(err)
	}
	for seed := *first; seed < *first+uint64(*programs); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			want := run(t, seed, simulate.Test{
				Start:   runControllers,
				Cluster: []simulate.Actor{simulate.BindClaims, simulate.ProtectClaims, runPods},
			})
			got := run(t, seed, simulate.Test{
				Start: func(ctx context.Context, _ *rest.Config) error {
					<-ctx.Done()
					return nil
				},
				Cluster: []simulate.Actor{
					simulate.ControlDeployments, simulate.ControlReplicaSets, simulate.ControlStatefulSets, simulate.ControlJobs,
					simulate.CollectGarbage, simulate.BindClaims, simulate.ProtectClaims, runPods,
				},
			})
			compare(t, want, got)
		})
	}
}

// settled is the state after a step.
type settled struct {
	step    string
	objects []string
}

// run executes a program, and returns the states after its steps.
func run(t *testing.T, seed uint64, test simulate.Test) []settled {
	t.Helper()
	var states []settled
	test.Disturb, test.Without = []simulate.Disturbance{}, []simulate.Oracle{simulate.Goroutines, simulate.EndState} // the actors leave no work to a program
	test.Steps = func(w *simulate.World) {
		w.Sleep(time.Second / 2) // the controller of ReplicaSets divides by the age of Pods in milliseconds
		p := &program{random: rand.New(rand.NewPCG(seed, 0)), world: w}
		for range steps {
			s := settled{step: p.step()}
			w.Settle()
			for _, obj := range describeAll(w.State()) {
				s.objects = append(s.objects, obj.text)
			}
			states = append(states, s)
		}
	}
	simulate.Run(t, test)
	return states
}

func compare(t *testing.T, want, got []settled) {
	t.Helper()
	var done []string
	for i := range want {
		done = append(done, want[i].step)
		if i == len(got) || got[i].step != want[i].step {
			t.Fatalf("the programs differ after\n  %s", strings.Join(done, "\n  "))
		}
		if diff := cmp.Diff(strings.Join(want[i].objects, "\n"), strings.Join(got[i].objects, "\n")); diff != "" {
			t.Fatalf("after\n  %s\nthe actors (+) and the controllers (-) differ:\n%s", strings.Join(done, "\n  "), diff)
		}
	}
}

// runPods is simulate.RunPods, but Pods of Jobs that have the label "hold" do not end without a
// ConfigMap "release", and those that have the label "fail" fail.
func runPods(s simulate.State) []simulate.Action {
	released := false
	for _, marker := range simulate.All[*corev1.ConfigMap](s) {
		released = released || marker.Name == "release"
	}
	var actions []simulate.Action
	for _, action := range simulate.RunPods(s) {
		if pod, ok := action.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodSucceeded && action.Verb == "update status" {
			if pod.Labels["hold"] != "" && !released {
				continue
			}
			if pod.Labels["fail"] != "" {
				pod.Status.Phase = corev1.PodFailed
			}
		}
		actions = append(actions, action)
	}
	return actions
}
