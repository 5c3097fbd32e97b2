// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
	"github.com/kinformer/kinformer/internal/testing/process"
	"github.com/kinformer/kinformer/simulate"
)

func source(data string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"copy": "yes"}},
		Data:       map[string]string{"key": data},
	}
}

// copying is a test of a program that copies ConfigMaps.
func copying(reconcile reconcileFunc) simulate.Test {
	return simulate.Test{
		Start:   start(reconcile),
		Objects: []fake.Object{source("1")},
		Steps: func(w *simulate.World) {
			w.Update(source("2"))
			w.Settle()
			w.Delete(source("2"))
		},
	}
}

func TestCorrectProgramPasses(t *testing.T) {
	before := runtime.NumGoroutine()
	simulate.Run(t, copying(copyConfigMap))
	goroutines.ExpectAtMost(t, before)
}

func wantFound(t *testing.T, found simulate.Found, oracle string, texts ...string) {
	t.Helper()
	if found.Oracle != oracle {
		t.Fatalf("got %q after %d runs, want a failure of %q: %s\n%s", found.Oracle, found.Runs, oracle, found.Text, found.Timeline)
	}
	for _, text := range texts {
		if !strings.Contains(found.Text+found.Plan, text) {
			t.Errorf("got plan %s and text\n%s\nwant %q in it", found.Plan, found.Text, text)
		}
	}
}

// A mistake of the test, such as a resource without its subresource, must not look like a program
// that passes.
func TestProgramThatCanWriteNothingFails(t *testing.T) {
	test := copying(func(ctx context.Context, c *copier, key string) error {
		_, _ = c.client.CoreV1().ConfigMaps("default").Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "absent"}}, metav1.UpdateOptions{})
		return nil
	})
	wantFound(t, simulate.Find(t, test, 20), "steps", "every write of the undisturbed run is refused")
}

// A program that writes nothing is one that the test has not set up, or one that must not write.
func TestProgramThatWritesNothingFails(t *testing.T) {
	test := simulate.Test{Objects: []fake.Object{source("1")}, Start: func(ctx context.Context, _ *rest.Config) error {
		<-ctx.Done()
		return nil
	}}
	wantFound(t, simulate.Find(t, test, 20), "steps", "the program has written nothing in the undisturbed run: there is nothing to compare")
	test.Outside = func() any { return map[string]string{"bucket": "empty"} }
	wantFound(t, simulate.Find(t, test, 20), "")
	test.Outside, test.Without = nil, []simulate.Oracle{simulate.EndState}
	wantFound(t, simulate.Find(t, test, 20), "")
}

// The program creates a second Secret if it is woken before it receives the first one.
func TestEndStateOfStaleCacheIsFound(t *testing.T) {
	found := simulate.Find(t, copying(createUnlessCached), 300)
	wantFound(t, found, "end state", "Secret default/a-*2 is there, and not in the undisturbed run", `{After: "1st create of secrets default/a-*"}`)
}

func TestProgramThatWritesAgainAndAgainIsFound(t *testing.T) {
	wantFound(t, simulate.Find(t, copying(writeAlways), 300), "rest", "update of configmaps default/a")
}

// The clock stands still while the program works, so that its time does not end a Lag.
func TestLagEndsWhileProgramIsBusy(t *testing.T) {
	test := simulate.Test{Start: start(toggleUntilSeen), Objects: []fake.Object{source("1")}, Disturb: []simulate.Disturbance{simulate.Lag{}, simulate.Gap{}}}
	wantFound(t, simulate.Find(t, test, 12), "")
}

// Which watch delivers its event first is not decided by the API server.
func TestDependenceOnOrderIsFound(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
	test := simulate.Test{Start: start(writeFirst), Objects: []fake.Object{source("1"), secret}}
	wantFound(t, simulate.Find(t, test, 300), "order", `data.key is "default/b"`, "this run or the undisturbed one is wrong",
		"The program's writes in the undisturbed run:\n  1st create of configmaps default/first at version 4\n",
		"\nand in this one:\n  1st create of configmaps default/first at version 4\n")
}

// A conflict of versions and one of names have the same status code.
func TestTimelineNamesReasonOfFailure(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
	test := simulate.Test{Start: start(writeFirst), Objects: []fake.Object{source("1"), secret}}
	found := simulate.RunPlan(t, test, 0)
	if !strings.Contains(found.Timeline, "2nd create of configmaps default/first: 409 AlreadyExists") {
		t.Errorf("got no 409 AlreadyExists in\n%s", found.Timeline)
	}
}

func TestInvariantIsCheckedAfterEachWrite(t *testing.T) {
	test := copying(copyConfigMap)
	test.Invariants = []func(simulate.Write) error{func(w simulate.Write) error {
		before, after := len(simulate.All[*corev1.Secret](w.Before)), len(simulate.All[*corev1.Secret](w.After))
		if after < before {
			return fmt.Errorf("%s %s %s/%s: %d Secrets after %d", w.Verb, w.Resource.Resource, w.Namespace, w.Name, after, before)
		}
		return nil
	}}
	wantFound(t, simulate.Find(t, test, 300), "invariant", "delete secrets default/a: 0 Secrets after 1")
}

func TestStart(t *testing.T) {
	for _, test := range []struct {
		name, oracle, text string
		start              func(context.Context, *rest.Config) error
	}{
		{"returns", "return", "no leader", func(context.Context, *rest.Config) error { return errors.New("no leader") }},
		{"returns nil", "return", "<nil>", func(context.Context, *rest.Config) error { return nil }},
		{"panics", "panic", "no map", func(context.Context, *rest.Config) error { panic("no map") }},
		{"recovers a panic", "panic", "no slice\ngoroutine ", func(ctx context.Context, _ *rest.Config) error {
			func() {
				defer utilruntime.HandleCrash()
				panic("no slice")
			}()
			<-ctx.Done()
			return nil
		}},
		{"does not return", "return", "has not returned 5m0s after", func(ctx context.Context, _ *rest.Config) error {
			<-ctx.Done()
			time.Sleep(time.Hour)
			return nil
		}},
		{"leaves a goroutine", "goroutines", "1 goroutines are left", func(ctx context.Context, _ *rest.Config) error {
			go time.Sleep(24 * time.Hour)
			<-ctx.Done()
			return nil
		}},
		{"leaves a blocked goroutine", "goroutines", "1 goroutines are left", func(ctx context.Context, _ *rest.Config) error {
			go func() { <-make(chan int) }()
			<-ctx.Done()
			return nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantFound(t, simulate.Find(t, simulate.Test{Start: test.start}, 20), test.oracle, test.text)
		})
	}
}

// A write on a timer is work, unless its field is ignored or the program rests between two of them.
func TestRestAndIgnore(t *testing.T) {
	test := simulate.Test{Objects: []fake.Object{source("1")}, Start: stampEvery(10 * time.Minute)}
	wantFound(t, simulate.Find(t, test, 30), "rest", "patch of configmaps default/a")
	test.Rest = time.Minute
	test.Ignore = []string{"metadata.annotations.checked"}
	wantFound(t, simulate.Find(t, test, 30), "")
	test.Rest = 0
	wantFound(t, simulate.Find(t, test, 30), "")
}

// Runs of one plan are equal, with the delays that client-go draws.
func TestRunsAreRepeatable(t *testing.T) {
	gap := simulate.Gap{After: "1st create of secrets default/a"}
	var want string
	for i := range 20 {
		got := simulate.RunPlan(t, copying(copyConfigMap), 7, gap).Timeline
		if i == 0 {
			want = got
		}
		if got != want {
			t.Fatalf("run %d:\n%s\nwant, as in the first:\n%s", i, got, want)
		}
	}
}

func TestParallelTestIsRefused(t *testing.T) {
	if os.Getenv("PARALLEL_TEST") != "" {
		t.Parallel()
		simulate.Run(t, copying(copyConfigMap))
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestParallelTestIsRefused$")
	command.Env = append(os.Environ(), "PARALLEL_TEST=yes")
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "simulate_test.go") || !strings.Contains(string(output), "do not call t.Parallel") || strings.Contains(string(output), "panic") {
		t.Errorf("got error %v and output\n%s\nwant a failure that names t.Parallel, and no panic", err, output)
	}
}

// Steps may end the test. The program is stopped before.
func TestStepsMayEndTest(t *testing.T) {
	if os.Getenv("FAILING_STEPS") != "" {
		test := copying(copyConfigMap)
		test.Steps = func(*simulate.World) { t.Fatal("no Secret") }
		simulate.Run(t, test)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestStepsMayEndTest$")
	command.Env = append(os.Environ(), "FAILING_STEPS=yes")
	output, err := command.CombinedOutput()
	if err == nil || strings.Count(string(output), "no Secret") != 1 || strings.Contains(string(output), "panic") {
		t.Errorf("got error %v and output\n%s\nwant one failure, and no panic", err, output)
	}
}

func TestSettingsOfProcessAreRestored(t *testing.T) {
	procs, handlers, crash := runtime.GOMAXPROCS(0), len(utilruntime.ErrorHandlers), utilruntime.ReallyCrash
	simulate.Find(t, copying(copyConfigMap), 1)
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("got GOMAXPROCS %d, want %d", got, procs)
	}
	if len(utilruntime.ErrorHandlers) != handlers || utilruntime.ReallyCrash != crash {
		t.Errorf("got %d error handlers and ReallyCrash %t, want %d and %t", len(utilruntime.ErrorHandlers), utilruntime.ReallyCrash, handlers, crash)
	}
}

func TestOracleIsSwitchedOff(t *testing.T) {
	test := simulate.Test{Start: func(ctx context.Context, _ *rest.Config) error {
		go time.Sleep(24 * time.Hour)
		<-ctx.Done()
		return nil
	}}
	wantFound(t, simulate.Find(t, test, 5), "goroutines")
	test.Without = []simulate.Oracle{simulate.Goroutines, simulate.EndState}
	wantFound(t, simulate.Find(t, test, 5), "")
}

// A goroutine that is left keeps its clients, but not the server.
func TestGoroutinesLeftKeepLittleMemory(t *testing.T) {
	test := copying(copyConfigMap)
	reconcile := test.Start
	test.Start = func(ctx context.Context, config *rest.Config) error {
		go func() {
			<-make(chan int)
			_ = config.String()
		}()
		return reconcile(ctx, config)
	}
	test.Without = []simulate.Oracle{simulate.Goroutines}
	simulate.Find(t, test, 5)
	before := process.LiveHeap()
	const runs = 20
	wantFound(t, simulate.Find(t, test, runs), "")
	if grown := (process.LiveHeap() - before) / runs; grown > 150_000 {
		t.Errorf("the heap has grown by %.0f bytes a run", grown)
	}
}

// claimDeleter creates a Secret with a controller that does not exist, and deletes a claim.
func claimDeleter(ctx context.Context, client kubernetes.Interface) error {
	isController := true
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "child", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "gone", Controller: &isController},
	}}}
	_, createErr := client.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
	deleteErr := client.CoreV1().PersistentVolumeClaims("default").Delete(ctx, "data", metav1.DeleteOptions{})
	<-ctx.Done()
	return errors.Join(createErr, deleteErr)
}

func TestReadyInvariants(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "example.com/db"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}},
		},
	}
	test := simulate.Test{Start: withClient(claimDeleter), Objects: []fake.Object{claim, pod}, Disturb: []simulate.Disturbance{}}
	wantFound(t, simulate.Find(t, test, 5), "")
	test.Invariants = []func(simulate.Write) error{simulate.ClaimsInUseAreKept}
	wantFound(t, simulate.Find(t, test, 5), "invariant", "claim default/data is deleted, and volume data of Pod db uses it")
	test.Invariants = []func(simulate.Write) error{simulate.ControllersExist}
	wantFound(t, simulate.Find(t, test, 5), "invariant", "the controller of default/child, ConfigMap a")
}
