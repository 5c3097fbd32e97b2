// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
)

// historyObjects is the number of ConfigMaps of a history.
const historyObjects = 30

// history is a collection of ConfigMaps, with the data that followers must have, not only the
// versions: a restored server may use a version twice.
type history struct {
	cluster *cluster.Cluster
	client  corev1client.ConfigMapInterface // of the cluster's own server
	changes int
}

func newHistory(t *testing.T, c *cluster.Cluster) *history {
	t.Helper()
	clientset := clientsetFor(t, c)
	h := &history{cluster: c, client: clientset.CoreV1().ConfigMaps(namespace(t, clientset))}
	for number := range historyObjects {
		h.write(t, number, "first")
	}
	return h
}

// write creates or changes an object, and returns the version. The server may be starting.
func (h *history) write(t *testing.T, number int, why string) int64 {
	t.Helper()
	h.changes++
	change := why + " " + strconv.Itoa(h.changes)
	name := configMapPrefix + strconv.Itoa(number)
	var written *corev1.ConfigMap
	await(t, "write "+name, func(ctx context.Context) (err error) {
		written, err = h.client.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"data": {"change": %q}}`, change), metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"change": change}}
			written, err = h.client.Create(ctx, obj, metav1.CreateOptions{})
		}
		return err
	})
	return parseVersion(written.ResourceVersion)
}

// rewrite changes, deletes and creates objects.
func (h *history) rewrite(t *testing.T, why string) {
	t.Helper()
	if err := h.client.Delete(t.Context(), configMapPrefix+"0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for number := range historyObjects {
		h.write(t, number, why)
	}
	h.write(t, historyObjects+h.changes, why)
}

func (h *history) revision(t *testing.T) int64 {
	t.Helper()
	revision, err := h.cluster.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// content describes objects with their data.
func content(objs []*corev1.ConfigMap) map[string]string {
	all := map[string]string{}
	for _, obj := range objs {
		all[obj.Name] = fmt.Sprintf("%s at %s: %s", obj.UID, obj.ResourceVersion, obj.Data["change"])
	}
	return all
}

func (h *history) truth(t *testing.T) map[string]string {
	t.Helper()
	var list *corev1.ConfigMapList
	await(t, "list the server's objects", func(ctx context.Context) (err error) {
		list, err = h.client.List(ctx, metav1.ListOptions{})
		return err
	})
	return content(pointers(list.Items))
}

// follower is an informer of a history.
type follower struct {
	*cache.SharedInformer[*corev1.ConfigMap]
	name     string
	requests *requests
}

// follow runs informers with and without streaming until the end of the test.
func (h *history) follow(t *testing.T, config *rest.Config, options cache.InformerOptions[*corev1.ConfigMap]) []*follower {
	t.Helper()
	var all []*follower
	for _, streaming := range []bool{true, false} {
		f := &follower{name: modeName(streaming), requests: &requests{}}
		own := rest.CopyConfig(config)
		own.Wrap(f.requests.wrap)
		if streaming {
			cache.EnableStreaming(own)
		}
		client := kubernetes.NewForConfigOrDie(own).CoreV1().ConfigMaps(h.namespace(t))
		f.SharedInformer = cache.NewSharedInformer(cache.ListWatchOf(client), &corev1.ConfigMap{}, options)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("%s: Run returned %v", f.name, err)
			}
		})
		all = append(all, f)
	}
	return all
}

func (h *history) namespace(t *testing.T) string {
	t.Helper()
	list, err := h.client.List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("list the server's objects: %d, %v", len(list.Items), err)
	}
	return list.Items[0].Namespace
}

func (f *follower) content() map[string]string { return content(f.Store().List()) }

// expectEqual waits until the stores have the server's objects, with their data.
func (h *history) expectEqual(t *testing.T, followers []*follower, limit time.Duration) {
	t.Helper()
	want, began := h.truth(t), time.Now()
	for _, f := range followers {
		t.Run(f.name, func(t *testing.T) {
			await(t, "the store has the server's objects", func(context.Context) error {
				got := f.content()
				if !maps.Equal(got, want) {
					return errors.New(differentContent(got, want))
				}
				return nil
			})
			took := time.Since(began).Round(100 * time.Millisecond)
			t.Logf("equal to the server after at most %v", took)
			if took > limit {
				t.Errorf("equal to the server after %v, want %v", took, limit)
			}
		})
	}
}

// differentContent describes how a store differs from the server.
func differentContent(got, want map[string]string) string {
	n, text := 0, ""
	for name := range want {
		if got[name] != want[name] {
			n++
			text = fmt.Sprintf("%s is %q, want %q", name, got[name], want[name])
		}
	}
	return fmt.Sprintf("%d objects, want %d; %d differ: %s", len(got), len(want), n, text)
}

// reconnection covers the longest delay of a client that could not connect. recovery is how long a
// client then takes at most to be equal to the server.
const (
	reconnection = 35 * time.Second
	recovery     = 10 * time.Second
)

// TestInformerFollowsServersHistory runs informers against servers that do not have their history:
// one that restarted, one that etcd was cut off from, and restored ones whose versions have passed
// the informers' before they connect again.
func TestInformerFollowsServersHistory(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	replica, err := c.AddAPIServer(t.Context(), "--request-timeout=10s")
	if err != nil {
		t.Fatal(err)
	}
	h := newHistory(t, c)
	t.Run("relist in pages", func(t *testing.T) { relistInPages(t, h, replica) })
	t.Run("start on a server cut off from etcd", func(t *testing.T) { startCutOff(t, h, replica) })
	for _, overtaken := range []bool{false, true} {
		t.Run(fmt.Sprintf("one server has the lost history, overtaken: %t", overtaken), func(t *testing.T) {
			resumeOnLostHistory(t, h, replica, overtaken)
		})
	}
	for _, r := range []rollback{
		{name: "not overtaken", below: true},
		{name: "overtaken"},
		{name: "overtaken and expired", expired: true},
		{name: "version used twice", expired: true, reuse: true},
		{name: "one hot object", reuse: true, hot: true},
		{name: "last change a deletion", deletes: true},
	} {
		t.Run(r.name, func(t *testing.T) { r.run(t, h) })
	}
}

// relistInPages lets the watches of informers with small pages expire on a server that restarts.
// etcd has the expired version for minutes: a list of exactly that version would succeed.
func relistInPages(t *testing.T, h *history, replica *cluster.Replica) {
	t.Helper()
	var network gate
	config := replica.Config()
	network.configure(config)
	followers := h.follow(t, config, cache.InformerOptions[*corev1.ConfigMap]{PageSize: 10})
	h.expectEqual(t, followers, settleTimeout)
	network.close()
	h.rewrite(t, "while disconnected")
	if err := replica.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	network.open()
	h.expectEqual(t, followers, reconnection+recovery)
}

// startCutOff starts informers on a server that has no connection to etcd: its watch cache, from
// which it answers a list of any version, is old.
func startCutOff(t *testing.T, h *history, replica *cluster.Replica) {
	t.Helper()
	h.expectEqual(t, h.follow(t, replica.Config(), cache.InformerOptions[*corev1.ConfigMap]{}), settleTimeout) // its watch cache is filled
	replica.Cut()
	h.rewrite(t, "while cut off")
	revision := h.revision(t)
	followers := h.follow(t, replica.Config(), cache.InformerOptions[*corev1.ConfigMap]{})
	for _, f := range followers {
		await(t, f.name+" receives an answer", func(context.Context) error {
			if len(f.requests.paths()) == 0 {
				return errors.New("no answer")
			}
			return nil
		})
	}
	first := map[string]chan int64{}
	for _, f := range followers {
		first[f.name] = make(chan int64, 1)
		go func() {
			if f.WaitForSync(t.Context()) == nil {
				first[f.name] <- parseVersion(f.Store().Snapshot().ResourceVersion())
			}
		}()
	}
	replica.Mend()
	h.expectEqual(t, followers, settleTimeout)
	for _, f := range followers {
		if version := <-first[f.name]; version < revision {
			t.Errorf("%s: the first list is at %d, want not before %d", f.name, version, revision)
		}
	}
}

// resumeOnLostHistory restores etcd while a replica goes on with what is lost. Informers resume
// their watches on the replica before they reach the restored server.
func resumeOnLostHistory(t *testing.T, h *history, replica *cluster.Replica, overtaken bool) {
	t.Helper()
	if err := errors.Join(replica.Stop(), replica.Start(t.Context())); err != nil { // an earlier restore has stopped it
		t.Fatal(err)
	}
	var network gate
	config := h.cluster.Config()
	network.configure(config)
	followers := h.follow(t, config, cache.InformerOptions[*corev1.ConfigMap]{})
	backup, err := h.cluster.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 6 * historyObjects { // more than the server's own writes when it starts
		h.write(t, n%historyObjects, "lost")
	}
	h.expectEqual(t, followers, settleTimeout)
	h.expectEqual(t, h.follow(t, replica.Config(), cache.InformerOptions[*corev1.ConfigMap]{}), settleTimeout)
	lost, reached := h.truth(t), h.revision(t)
	network.close()
	replica.Cut()
	defer replica.Mend()
	if err := h.cluster.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	for revision := h.revision(t); overtaken && revision < reached+historyObjects/2; {
		revision = h.write(t, int(revision)%historyObjects, "restored")
	}
	network.lead(replica.Config())
	for _, f := range followers {
		await(t, f.name+" watches the replica", func(context.Context) error {
			if status := f.Status(); status.Phase != cache.PhaseWatching {
				return fmt.Errorf("%v: %w", status.Phase, status.Err)
			}
			return nil
		})
		if got := f.content(); !maps.Equal(got, lost) {
			t.Errorf("%s, on the replica: %s", f.name, differentContent(got, lost))
		}
	}
	network.lead(h.cluster.Config())
	h.expectEqual(t, followers, reconnection+recovery)
}

// rollback is a restore of etcd after which the server's versions pass those of the informers
// before they connect again, or do not.
type rollback struct {
	name    string
	below   bool // they do not pass them
	expired bool // the server has no older version for watches
	reuse   bool // objects have versions that they had in the lost history, with other data
	hot     bool // one object alone is written, before and after
	deletes bool // the last change was a deletion
}

func (r rollback) run(t *testing.T, h *history) {
	t.Helper()
	var network gate
	config := h.cluster.Config()
	network.configure(config)
	followers := h.follow(t, config, cache.InformerOptions[*corev1.ConfigMap]{})
	h.expectEqual(t, followers, settleTimeout)
	backup, err := h.cluster.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := map[int64]int{}             // object by version
	for n := range 6 * historyObjects { // more than the server's own writes when it starts
		number := r.number(n)
		lost[h.write(t, number, "lost")] = number
	}
	if r.deletes {
		if err := h.client.Delete(t.Context(), configMapPrefix+"0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	h.expectEqual(t, followers, settleTimeout)
	reached := h.revision(t)
	network.close()
	if err := h.cluster.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if r.below {
		if revision := h.revision(t); revision >= reached {
			t.Fatalf("the restored revision is %d, want less than %d", revision, reached)
		}
	} else if used := r.overtake(t, h, lost, reached); r.reuse != (used > 0) {
		t.Fatalf("%d versions were used twice, want some: %t", used, r.reuse)
	}
	if r.expired {
		if err := h.cluster.APIServer().Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	network.open()
	h.expectEqual(t, followers, reconnection+recovery)
}

// number returns the number of the object of the nth write.
func (r rollback) number(n int) int {
	if r.hot {
		return 0
	}
	return n % historyObjects
}

// overtake writes until the revision is past the one reached, and returns how many objects have a
// version that they had in the lost history.
func (r rollback) overtake(t *testing.T, h *history, lost map[int64]int, reached int64) (used int) {
	t.Helper()
	revision := h.revision(t)
	if revision >= reached {
		t.Fatalf("the restored revision is %d, want less than %d", revision, reached)
	}
	for n := 0; revision < reached+historyObjects/2; n++ {
		number, ok := lost[revision+1]
		if !ok {
			number = r.number(n)
		}
		if !r.reuse {
			number = (number + historyObjects/2) % historyObjects // another one, also if the server writes in between
		}
		revision = h.write(t, number, "restored")
		if before, ok := lost[revision]; ok && before == number {
			used++
		}
	}
	return used
}
