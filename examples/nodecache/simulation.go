// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

const (
	stepInterval = 500 * time.Millisecond
	// uptime is how long the API server serves a watch.
	uptime = 10 * time.Second
)

// startSimulation starts an API server with nodes that join, change and leave. It returns the
// configuration of its clients and a function that stops it.
func startSimulation(ctx context.Context, size int) (*rest.Config, func(), error) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, nil, err
	}
	breakWatches(server, uptime)
	s := newSimulation(server, size)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx)
	}()
	return server.Config(), func() {
		cancel()
		<-ended
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(ctx)
	}, nil
}

// breakWatches makes watches see what they see of an API server that restarts: each ends after
// uptime, and the server refuses the next two.
func breakWatches(server *fake.APIServer, uptime time.Duration) {
	isWatch := func(r fake.APIRequest) bool { return r.Verb == "watch" }
	watches := 0
	isRefused := func(r fake.APIRequest) bool {
		if isWatch(r) {
			watches++
		}
		return isWatch(r) && watches%3 != 1
	}
	server.InjectFault(-1, isRefused, fake.RequestFault{Err: apierrors.NewServiceUnavailable("the API server is restarting")})
	server.InjectFault(-1, isWatch, fake.RequestFault{CloseIn: uptime})
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
