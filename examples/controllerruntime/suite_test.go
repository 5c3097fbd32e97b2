// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

// TestSuite runs the specs of a suite as kubebuilder generates one.
func TestSuite(t *testing.T) { ginkgo.RunSpecs(t, "Controllers") }

// A simulation in a suite of Ginkgo.
var _ = ginkgo.Describe("The controller", func() {
	ginkgo.It("counts Pods whatever fails", func() {
		simulate.Run(ginkgo.GinkgoT(), counting(ctrl.Options{}))
	})
	ginkgo.It("is simulated after a spec that failed", func() {
		simulate.Replay(ginkgo.GinkgoTB(), counting(ctrl.Options{}), 7)
	})
})

// broken is the environment variable of a process in which a spec fails.
const broken = "BROKEN_SPEC"

var _ = ginkgo.Describe("The broken controller", func() {
	switch os.Getenv(broken) {
	case "steps":
		ginkgo.It("fails in Steps", func() {
			test := counting(ctrl.Options{})
			test.Steps = func(*simulate.World) { ginkgo.Fail("Steps say no") }
			simulate.Run(ginkgo.GinkgoT(), test)
		})
	case "bug":
		ginkgo.It("panics", func() {
			test := counting(ctrl.Options{})
			test.Start = simulatecr.Start(ctrl.Options{}, func(m ctrl.Manager) error {
				return ctrl.NewControllerManagedBy(m).For(&corev1.Pod{}).Complete(reconcile.Func(
					func(context.Context, reconcile.Request) (reconcile.Result, error) { panic("no Pods") }))
			})
			simulate.Run(ginkgo.GinkgoT(), test)
		})
	}
})

// A spec fails with the report, and the other specs run.
func TestSpecFailsWithReport(t *testing.T) {
	for name, want := range map[string]string{
		"steps": "Steps say no",
		"bug":   "go test -ginkgo.focus '^The broken controller panics$' -simulate.replay '0'",
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSuite$", "-ginkgo.no-color", "-simulate.runs", "5")
			command.Env = append(os.Environ(), broken+"="+name, "TMPDIR="+t.TempDir())
			output, err := command.CombinedOutput()
			for _, want := range []string{want, "[FAIL] The broken controller", "2 Passed", "1 Failed"} {
				if err == nil || !strings.Contains(string(output), want) {
					t.Errorf("got error %v and output\n%s\nwant %q", err, output, want)
				}
			}
		})
	}
}
