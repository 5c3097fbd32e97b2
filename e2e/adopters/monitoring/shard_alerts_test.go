// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/metrics"
	"github.com/kinformer/kinformer/shard"
)

const (
	scrapeInterval = 15 * time.Second
	// alertDeadline is how long after a replica was killed an alert may fire.
	alertDeadline = 60 * time.Second
)

// TestShardAlertsFire runs a group of replicas on a kube-apiserver, with the default options, and
// scrapes and evaluates as Prometheus does with an interval of 15 s. A replica that ends as usual
// causes no alert. One of three that is killed does, within a minute, and the log of each survivor
// names the slots that it has taken.
func TestShardAlertsFire(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	t.Run("one replica is killed", func(t *testing.T) {
		t.Parallel()
		g := newGroup(t, c.Config(), "killed", "a", "b", "c", "d")
		g.observe(t, "four run", 15*time.Second)
		g.replicas[3].stop()
		g.forget(3)
		g.observe(t, "one ended", 45*time.Second)
		g.kill()
		g.observe(t, "one of three was killed", alertDeadline, "KinformerShardSlotsExpired")
		for _, r := range g.replicas[:2] {
			if log := r.logged(); !regexp.MustCompile(`"msg"="Took slots" .*"slots"="\d.*" "reason"="Expired"`).MatchString(log) {
				t.Errorf("%s has not logged which slots it took from the killed one:\n%s", r.identity, log)
			}
		}
	})
	t.Run("one replica is killed, the others cannot write", func(t *testing.T) {
		t.Parallel()
		g := newGroup(t, c.Config(), "refused", "a", "b", "c")
		g.observe(t, "three run", 15*time.Second)
		for _, r := range g.replicas[1:] {
			r.leases.refuse(writes)
		}
		g.kill()
		g.observe(t, "one of three was killed", alertDeadline, "KinformerShardRenewalFails", "KinformerShardSlotsFree")
	})
}

// group is a group of replicas, and what was scraped of them.
type group struct {
	replicas []*replica
	engine   *promql.Engine
	scraped  samples
	pending  map[string]time.Time // since when an alert is active
}

func newGroup(t *testing.T, config *rest.Config, namespace string, identities ...string) *group {
	t.Helper()
	clientset := kubernetes.NewForConfigOrDie(config)
	g := &group{engine: newEngine(), pending: make(map[string]time.Time)}
	if _, err := clientset.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, identity := range identities {
		g.replicas = append(g.replicas, startReplica(t, config, namespace, identity))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	last := g.replicas[len(identities)-1].member
	for slots := range last.Changes(ctx) {
		if len(slots) >= 32/len(identities) {
			return g
		}
	}
	t.Fatalf("the slots were not divided: %+v", last.Status())
	return nil
}

// kill ends the first replica, which cannot give its Lease up.
func (g *group) kill() {
	g.replicas[0].leases.refuse(allRequests)
	go g.replicas[0].stop() // it tries for RenewDeadline to give its Lease up
	g.forget(0)
}

// forget makes the series of a replica stale, as Prometheus does when a scrape fails.
func (g *group) forget(replica int) {
	instance := g.replicas[replica].identity
	g.scraped = slices.DeleteFunc(g.scraped, func(s promql.Series) bool { return s.Metric.Get("instance") == instance })
	g.replicas = slices.Delete(g.replicas, replica, replica+1)
}

// observe scrapes the replicas and evaluates the alerts, until those that are wanted fire, or none
// for a time.
func (g *group) observe(t *testing.T, what string, length time.Duration, want ...string) {
	t.Helper()
	began, firing := time.Now(), map[string]time.Duration{}
	ticker := time.NewTicker(scrapeInterval)
	defer ticker.Stop()
	for time.Since(began) < length-scrapeInterval/2 && (len(want) == 0 || len(firing) < len(want)) {
		now := <-ticker.C
		for _, r := range g.replicas {
			g.scrape(t, r, now)
		}
		for _, alert := range g.evaluate(t, now) {
			if _, ok := firing[alert]; !ok {
				firing[alert] = now.Sub(began)
				t.Logf("%s: %s fires after %s", what, alert, now.Sub(began).Round(time.Second))
			}
		}
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(firing)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: alerts within %s (-want +got):\n%s", what, length, diff)
	}
}

// evaluate returns the alerts that fire.
func (g *group) evaluate(t *testing.T, now time.Time) (firing []string) {
	t.Helper()
	for _, rule := range parseAlerts(t) {
		if !strings.HasPrefix(rule.Alert, "KinformerShard") {
			continue
		}
		if !g.scraped.matches(t, g.engine, rule.Expr, now) {
			delete(g.pending, rule.Alert)
			continue
		}
		if _, ok := g.pending[rule.Alert]; !ok {
			g.pending[rule.Alert] = now
		}
		if now.Sub(g.pending[rule.Alert]) >= time.Duration(rule.For)-time.Second { // a ticker is not exact
			firing = append(firing, rule.Alert)
		}
	}
	return firing
}

// scrape adds the samples of a replica.
func (g *group) scrape(t *testing.T, r *replica, now time.Time) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			series := map[string]string{labels.MetricName: family.GetName(), "job": "program", "instance": r.identity}
			for _, pair := range metric.GetLabel() {
				series[pair.GetName()] = pair.GetValue()
			}
			g.add(labels.FromMap(series), promql.FPoint{T: now.UnixMilli(), F: metric.GetCounter().GetValue() + metric.GetGauge().GetValue()})
		}
	}
}

func (g *group) add(name labels.Labels, point promql.FPoint) {
	for i := range g.scraped {
		if labels.Equal(g.scraped[i].Metric, name) {
			g.scraped[i].Floats = append(g.scraped[i].Floats, point)
			return
		}
	}
	g.scraped = append(g.scraped, promql.Series{Metric: name, Floats: []promql.FPoint{point}})
}

// replica is a process that shares the ConfigMaps of a namespace with others.
type replica struct {
	identity string
	member   *shard.Member
	leases   *limitedLeases
	registry *prometheus.Registry
	stop     func()

	mu  sync.Mutex
	log bytes.Buffer
}

func startReplica(t *testing.T, config *rest.Config, namespace, identity string) *replica {
	t.Helper()
	clientset := kubernetes.NewForConfigOrDie(config)
	r := &replica{identity: identity, registry: prometheus.NewRegistry()}
	r.leases = &limitedLeases{LeaseClient: clientset.CoordinationV1().Leases(namespace)}
	member, err := shard.New(r.leases, shard.Options{Group: "g", Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	r.member = member
	configMaps := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().ConfigMaps(namespace)), &corev1.ConfigMap{},
		cache.InformerOptions[*corev1.ConfigMap]{Scopes: member.Scopes()})
	r.registry.MustRegister(metrics.NewCollector(configMaps))
	logger := funcr.New(func(_, line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log.WriteString(line + "\n")
	}, funcr.Options{})
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	done := make(chan error, 1)
	go func() { done <- cache.RunAll(ctx, configMaps.Run, member.Run) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *replica) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// refusal is which requests a limitedLeases refuses.
type refusal int32

const (
	noRequests refusal = iota
	writes
	allRequests
)

var errRefused = errors.New("refused by the test")

// limitedLeases refuses requests for single Leases.
type limitedLeases struct {
	shard.LeaseClient
	refused atomic.Int32
}

func (l *limitedLeases) refuse(which refusal) { l.refused.Store(int32(which)) }

func (l *limitedLeases) refuses(request refusal) bool { return refusal(l.refused.Load()) >= request }

func (l *limitedLeases) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	if l.refuses(allRequests) {
		return nil, errRefused
	}
	return l.LeaseClient.Get(ctx, name, options)
}

func (l *limitedLeases) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if l.refuses(writes) {
		return nil, errRefused
	}
	return l.LeaseClient.Create(ctx, lease, options)
}

func (l *limitedLeases) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if l.refuses(writes) {
		return nil, errRefused
	}
	return l.LeaseClient.Update(ctx, lease, options)
}
