// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

const (
	stepInterval = 500 * time.Millisecond
	// The API server restarts firstUptime after its start, and then whenever it was up for uptime.
	firstUptime = 10 * time.Second
	uptime      = 5 * time.Minute
	downtime    = 2 * time.Second
)

// startSimulation starts an API server with nodes that join, change and leave. It returns the
// configuration of its clients and a function that stops it.
func startSimulation(ctx context.Context, size int) (*rest.Config, func(), error) {
	listener, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	address := listener.Addr().String()
	stop, err := simulate(ctx, size, listener, func() (net.Listener, error) { return listen(ctx, address) })
	return &rest.Config{Host: "http://" + address, QPS: -1}, stop, err
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// simulate serves an API server on a listener, and after a restart on one that relisten returns,
// and changes its nodes. It returns a function that stops both.
func simulate(ctx context.Context, size int, listener net.Listener, relisten func() (net.Listener, error)) (stop func(), err error) {
	// The objects are in memory, and outlive a restart as those in etcd do.
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := newSimulation(server, size)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.run(ctx) })
	running.Go(func() { serve(ctx, server, listener, relisten) })
	return func() {
		cancel()
		running.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(ctx)
	}, nil
}

// serve serves the API until ctx ends. At a restart all connections break, and new ones are refused
// until the server listens again. Meanwhile the nodes change, as other API servers of a cluster
// serve their kubelets. The restarted server has no history, so that watches get 410 Gone.
func serve(ctx context.Context, server *fake.APIServer, listener net.Listener, relisten func() (net.Listener, error)) {
	for up := firstUptime; ; up = uptime {
		front := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
		go func(l net.Listener) { _ = front.Serve(l) }(listener)
		sleep(ctx, up)
		_ = front.Close()
		for listener = nil; listener == nil; {
			if sleep(ctx, downtime); ctx.Err() != nil {
				return
			}
			server.TruncateWatchCache()
			listener, _ = relisten() // again, if another program has taken the port
		}
	}
}

// sleep waits until d has passed or ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// simulation changes the nodes of a server at random. It is not safe for concurrent use.
type simulation struct {
	server *fake.APIServer
	size   int
	nodes  []*corev1.Node // as the server holds them
	joined int            // number of nodes created; makes names unique
}

// newSimulation returns a simulation of size or size+1 nodes, all of them ready at first.
func newSimulation(server *fake.APIServer, size int) *simulation {
	s := &simulation{server: server, size: size}
	for range size {
		s.join(corev1.ConditionTrue)
	}
	return s
}

// run changes nodes until ctx ends. A larger cluster has more changes.
func (s *simulation) run(ctx context.Context) {
	ticker := time.NewTicker(stepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for range 1 + s.size/200 {
			s.step()
		}
	}
}

// step makes one random change: a node joins or leaves, fails or recovers, is cordoned or
// uncordoned.
func (s *simulation) step() {
	switch rand.IntN(3) {
	case 0:
		if len(s.nodes) == s.size {
			s.join(corev1.ConditionFalse)
		} else {
			s.leave()
		}
	case 1:
		node, ready := s.pick(func(n *corev1.Node) bool { return !isReady(n) }), corev1.ConditionTrue
		if isReady(node) {
			ready = corev1.ConditionUnknown
		}
		setReady(node, ready)
		must(s.server.UpdateStatus(node))
	case 2:
		node := s.pick(func(n *corev1.Node) bool { return n.Spec.Unschedulable })
		node.Spec.Unschedulable = !node.Spec.Unschedulable
		must(s.server.Update(node))
	}
}

// pick returns a node that the function selects or, if there is none, a random one.
func (s *simulation) pick(selects func(*corev1.Node) bool) *corev1.Node {
	if i := slices.IndexFunc(s.nodes, selects); i >= 0 {
		return s.nodes[i]
	}
	return s.nodes[rand.IntN(len(s.nodes))]
}

func (s *simulation) join(ready corev1.ConditionStatus) {
	node := newNode(s.joined)
	setReady(node, ready)
	must(s.server.Create(node))
	s.nodes = append(s.nodes, node)
	s.joined++
}

// leave removes a node, but not the control plane.
func (s *simulation) leave() {
	i := 1 + rand.IntN(len(s.nodes)-1)
	must(s.server.Delete(s.nodes[i]))
	s.nodes = slices.Delete(s.nodes, i, i+1)
}

// newNode returns the n-th node as its kubelet would register it, without the Ready condition.
func newNode(n int) *corev1.Node {
	name, role := fmt.Sprintf("worker-%03d", n), "worker"
	if n == 0 {
		name, role = "control-plane", "control-plane"
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{rolePrefix + role: "", corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.%d.%d.%d", n>>16&127, n>>8&255, n&255)}},
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("16"),
				corev1.ResourceMemory: resource.MustParse("64Gi"),
				corev1.ResourcePods:   resource.MustParse("110"),
			},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.36.2", OSImage: "Debian GNU/Linux 13 (trixie)", Architecture: "amd64"},
		},
	}
}

// setReady sets the Ready condition, as the kubelet or the node lifecycle controller does.
func setReady(node *corev1.Node, status corev1.ConditionStatus) {
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.Now()}}
}

// must panics if the server has refused a write, which it does only for an invalid object.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
