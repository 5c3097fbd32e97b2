// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/e2e/cluster"
)

const (
	shardGroup    = "stampers"
	leaseDuration = 5 * time.Second
	// stampDeadline is how long a change may wait for its stamp while there is an API server. If a
	// replica dies, its Lease expires, and the next owner lists the objects, several times if it
	// gains one slot after another: half of this. A busy machine may stop the replicas for as long.
	// The next fault waits for the stamps that this one has delayed.
	stampDeadline = 2 * (leaseDuration + 25*time.Second)
)

// TestSharding runs replicas that divide 20,000 ConfigMaps and stamp each change, while the
// ConfigMaps change all the time, and are deleted and recreated. Replicas are killed, stopped for
// longer than their Leases, ended and added, and the API server restarts.
func TestSharding(t *testing.T) {
	t.Parallel()
	program := buildSharded(t)
	for gate, args := range map[string][]string{"gate on": {"--feature-gates=ShardedListAndWatch=true"}, "gate off": nil} {
		t.Run(gate, func(t *testing.T) {
			testSharding(t, program, args)
		})
	}
}

func testSharding(t *testing.T, program string, apiServerArgs []string) {
	t.Helper()
	c := cluster.New(t, cluster.Options{APIServerArgs: apiServerArgs})
	configMaps := newConfigMapCollection(t, c, 10, 20_000)
	configMaps.putAll(t)
	g := &shardGroupHarness{
		program: program, kubeconfig: writeKubeconfig(t, c), clientset: configMaps.author.clientset,
		namespace: configMaps.author.namespaces[0], replicas: map[string]*exec.Cmd{},
	}
	checker := startStampChecker(t, configMaps)
	for _, identity := range []string{"a", "b", "c"} {
		g.start(t, identity)
	}
	checker.awaitAll(t, configMaps.number)

	checker.demandStamps()
	configMaps.pace(200)
	configMaps.focus(20)
	stop := configMaps.start(t)
	defer stop()
	for _, fault := range g.faults(c) {
		began := time.Now()
		fault.inject(t)
		await(t, fault.name, func(ctx context.Context) error { return g.isBalanced(ctx) })
		configMaps.awaitMore(t, 400)
		balanced := time.Now()
		await(t, fault.name, func(context.Context) error { return checker.waitingSince(balanced) })
		t.Logf("%s at %s: balanced, 400 changes and all stamps after %s", fault.name, began.Format(time.TimeOnly), time.Since(began).Round(100*time.Millisecond))
	}
	stop()
	await(t, "the last changes are stamped", func(context.Context) error { return checker.unstamped(configMaps.number) })
	checker.check(t, stampDeadline+g.outage)
}

// shardGroupHarness starts and stops the replicas of a group.
type shardGroupHarness struct {
	program, kubeconfig, namespace string
	clientset                      kubernetes.Interface
	replicas                       map[string]*exec.Cmd // the running ones, by identity
	outage                         time.Duration        // of the API server
}

type shardFault struct {
	name   string
	inject func(t *testing.T)
}

func (g *shardGroupHarness) faults(c *cluster.Cluster) []shardFault {
	return []shardFault{
		{"three replicas", func(*testing.T) {}},
		{"a is killed", func(t *testing.T) { t.Helper(); g.end(t, "a", syscall.SIGKILL) }},
		{"a starts again", func(t *testing.T) { t.Helper(); g.start(t, "a") }},
		{"b is stopped for twice the lease duration", func(t *testing.T) {
			t.Helper()
			g.signal(t, "b", syscall.SIGSTOP)
			<-time.After(2 * leaseDuration)
			g.signal(t, "b", syscall.SIGCONT)
		}},
		{"c ends", func(t *testing.T) { t.Helper(); g.end(t, "c", syscall.SIGTERM) }},
		{"two join at once", func(t *testing.T) { t.Helper(); g.start(t, "c"); g.start(t, "d") }},
		{"the API server restarts", func(t *testing.T) {
			t.Helper()
			began := time.Now()
			if err := c.APIServer().Restart(t.Context()); err != nil {
				t.Error(err)
			}
			g.outage = time.Since(began)
		}},
		{"a is killed as b stops and continues", func(t *testing.T) {
			t.Helper()
			g.signal(t, "b", syscall.SIGSTOP)
			g.end(t, "a", syscall.SIGKILL)
			<-time.After(2 * leaseDuration)
			g.signal(t, "b", syscall.SIGCONT)
		}},
	}
}

func (g *shardGroupHarness) start(t *testing.T, identity string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	replica := exec.CommandContext(ctx, g.program, "--kubeconfig", g.kubeconfig, "--namespace", g.namespace, "--group", shardGroup,
		"--selector", collectionLabel+"="+g.namespace, "--identity", identity, "--lease-duration", leaseDuration.String())
	replica.Stderr = os.Stderr
	replica.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := replica.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	g.replicas[identity] = replica
	t.Cleanup(func() {
		cancel()
		_ = replica.Wait() // also after end
	})
}

func (g *shardGroupHarness) signal(t *testing.T, identity string, signal syscall.Signal) {
	t.Helper()
	if err := g.replicas[identity].Process.Signal(signal); err != nil {
		t.Fatalf("send %v to replica %s: %v", signal, identity, err)
	}
}

// end ends a replica by a signal.
func (g *shardGroupHarness) end(t *testing.T, identity string, signal syscall.Signal) {
	t.Helper()
	g.signal(t, identity, signal)
	if err := g.replicas[identity].Wait(); err != nil && signal != syscall.SIGKILL {
		t.Errorf("replica %s: %v", identity, err)
	}
	delete(g.replicas, identity)
}

func buildSharded(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sharded")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-race", "-o", program, "./sharded").CombinedOutput(); err != nil {
		t.Fatalf("build sharded: %v\n%s", err, out)
	}
	return program
}

// awaitMore waits until this number of further changes has been made.
func (c *configMapCollection) awaitMore(t *testing.T, changes int) {
	t.Helper()
	_, before := c.ledger.size()
	c.awaitChanges(t, before+changes)
}

// isBalanced returns an error unless each slot belongs to a running replica, each of which has its
// share.
func (g *shardGroupHarness) isBalanced(ctx context.Context) error {
	owned, err := g.ownedSlots(ctx)
	if err != nil {
		return err
	}
	least, most := shardSlots, 0
	for identity := range g.replicas {
		least, most = min(least, owned[identity]), max(most, owned[identity])
	}
	if len(owned) != len(g.replicas) || most-least > 1 {
		return fmt.Errorf("%w: slots by replica: %v", errNotAtRest, owned)
	}
	return nil
}
