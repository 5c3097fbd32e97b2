// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/e2e/objects"
	"github.com/kinformer/kinformer/fake"
)

const (
	seed  = 9
	nodes = 60
	// history is the time of which the scene has events.
	history = 5 * time.Minute
	// recentEventsInterval is the time that each number of Status.Requests.RecentEvents covers.
	recentEventsInterval = 5 * time.Second
)

// scene is a program with informers in several conditions.
type scene struct {
	t      *testing.T
	server *fake.APIServer
	client kubernetes.Interface
	clock  *lateClock
	group  cache.Group
	slow   atomic.Bool   // a handler has begun to block
	held   chan struct{} // closed at the end, to release it
	leases int

	pods    *cache.SharedInformer[*corev1.Pod]
	nodes   *cache.SharedInformer[*corev1.Node]
	updates *cache.SharedInformer[*coordinationv1.Lease]
}

// newScene returns a scene with five minutes of events.
func newScene(t *testing.T) *scene {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{HistoryLimit: 1 << 17})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &scene{t: t, server: server, clock: &lateClock{lag: history}, held: make(chan struct{})}
	config := server.Config()
	config.ContentType = runtime.ContentTypeProtobuf
	cache.EnableStreaming(config)
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	s.populate()
	s.start()
	s.pass()
	return s
}

// handler returns the debug page of the scene.
func (s *scene) handler() http.Handler {
	return http.StripPrefix("/debug/informers", debug.Handler(debug.Options{ShowObjects: true}, &s.group))
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// populate creates what the first lists return.
func (s *scene) populate() {
	for n := range nodes {
		s.must(s.server.Create(objects.NewNode(seed, n)))
		s.must(s.server.Create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: objects.NodeName(n)}}))
	}
	for w := range 40 {
		workload := objects.NewWorkload(seed, w, []string{"shop", "billing", "platform"}[w%3])
		s.must(s.server.Create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", w)}}))
		for replica := range 30 {
			pod := workload.Pod(replica)
			pod.Spec.NodeName = objects.NodeName((w*7 + replica) % nodes)
			s.must(s.server.Create(pod))
		}
	}
	for _, name := range []string{"flags", "limits", "routes", "kube-root-ca.crt"} {
		s.must(s.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: map[string]string{"replicas": "3"}}))
	}
	s.must(s.server.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "token"}, StringData: map[string]string{"token": "secret-content"}}))
	s.server.InjectFault(1, isWatchOf("deployments"), fake.Fault{CloseIn: time.Second})
	s.server.InjectFault(1, isWatchOf("deployments"), fake.Fault{Err: apierrors.NewResourceExpired("too old resource version: 1021 (8266)")})
	s.server.InjectFault(-1, func(r fake.APIRequest) bool { return r.Resource == "ingresses" }, fake.Fault{
		Err: apierrors.NewForbidden(networkingv1.Resource("ingresses"), "",
			errors.New(`User "system:serviceaccount:shop:controller" cannot list resource "ingresses" in API group "networking.k8s.io" at the cluster scope`)),
	})
}

func isWatchOf(resource string) func(fake.APIRequest) bool {
	return func(r fake.APIRequest) bool { return r.Verb == "watch" && r.Resource == resource }
}

// add adds an informer to the scene and runs it.
func add[T cache.Object](s *scene, lw cache.ListerWatcher, example T, options cache.InformerOptions[T], handlers ...string) *cache.SharedInformer[T] {
	s.t.Helper()
	options.Clock = s.clock
	options.ErrorHandler = func(context.Context, error) {}
	informer := cache.NewSharedInformer(lw, example, options)
	for _, name := range handlers {
		_, err := informer.AddEventHandler(cache.EventHandlerFunc[T](func(cache.Event[T]) {
			work(len(name))
			if name == "audit log" && s.slow.Load() {
				<-s.held
			}
		}), cache.HandlerOptions{Name: name})
		s.must(err)
	}
	s.group.Add(informer)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- informer.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			s.t.Error(err)
		}
	})
	return informer
}

// work takes a handler some time, as it would in a program.
func work(n int) {
	sum := [sha256.Size]byte{}
	for range 8 * n {
		sum = sha256.Sum256(sum[:])
	}
}

// start runs the informers, and waits for those that can sync.
func (s *scene) start() {
	defer s.t.Cleanup(func() { close(s.held) }) // before the informers stop
	s.pods = add(s, cache.ListWatchOf(s.client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Name: "pods", Packed: true,
		Indexers: cache.Indexers[*corev1.Pod]{
			cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc),
			"nodeName":           cache.ByObject(func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil }),
		},
	}, "endpoints controller", "autoscaler", "topology view")
	s.nodes = add(s, cache.ListWatchOf(s.client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{Name: "nodes"},
		"scheduler cache", "autoscaler")
	s.updates = add(s, cache.ListWatchOf(s.client.CoordinationV1().Leases("kube-node-lease")), &coordinationv1.Lease{},
		cache.InformerOptions[*coordinationv1.Lease]{Name: "node leases"}, "node lifecycle", "audit log")
	add(s, cache.ListWatchOf(s.client.AppsV1().Deployments("")), &appsv1.Deployment{}, cache.InformerOptions[*appsv1.Deployment]{Name: "deployments"}, "rollouts")
	add(s, cache.ListWatchOf(s.client.CoreV1().ConfigMaps("shop")), &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{
		Name: "configmaps", Transform: refuse,
	}, "flags")
	add(s, cache.ListWatchOf(s.client.CoreV1().Secrets("shop")), &corev1.Secret{}, cache.InformerOptions[*corev1.Secret]{Name: "secrets"})
	add(s, cache.ListWatchOf(s.client.NetworkingV1().Ingresses("")), &networkingv1.Ingress{}, cache.InformerOptions[*networkingv1.Ingress]{Name: "ingresses"}, "routes")
	for _, informer := range []interface{ WaitForSync(context.Context) error }{s.pods, s.nodes, s.updates} {
		s.must(informer.WaitForSync(s.t.Context()))
	}
}

// refuse is a transform that a ConfigMap fails.
func refuse(config *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if config.Name == "limits" {
		return nil, fmt.Errorf("data.replicas: %q is not a number", "three")
	}
	return config, nil
}

// pass lets the time until now pass, with events.
func (s *scene) pass() {
	intervals := int(history / recentEventsInterval)
	for n := range intervals {
		s.renewLeases(60 + n%7)
		s.changePods(n, int(40+30*math.Sin(float64(n)/6)))
		if n%11 == 3 {
			s.changeNodes(5)
		}
		if n == intervals/2 {
			s.rollout()
		}
		s.slow.Store(n >= intervals-8)
		s.settle()
		s.clock.catchUp(recentEventsInterval)
	}
}

// settle waits until the events have been received.
func (s *scene) settle() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	// A write of each kind, after which its informer has received all earlier ones.
	node, pod := objects.NewNode(seed, 0), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "last"}}
	if s.server.Get(pod) == nil {
		s.must(s.server.Delete(pod))
		pod.ResourceVersion = ""
	}
	s.must(s.server.Create(pod))
	s.must(s.server.Get(node))
	node.Annotations = map[string]string{"at": s.clock.Now().String()}
	s.must(s.server.Update(node))
	s.server.Bookmark()
	lease := s.renewLeases(1)
	s.must(s.pods.WaitForObject(ctx, pod))
	s.must(s.nodes.WaitForObject(ctx, node))
	s.must(s.updates.WaitForObject(ctx, lease))
	for s.isDelivering() {
		<-time.After(time.Millisecond)
	}
}

// isDelivering reports whether a handler that does not block has pending events.
func (s *scene) isDelivering() bool {
	for _, view := range s.group.Views() {
		for _, handler := range view.Status().Handlers {
			if handler.Backlog > 0 && (handler.Name != "audit log" || !s.slow.Load()) {
				return true
			}
		}
	}
	return false
}

// renewLeases renews n leases, and returns the last of them.
func (s *scene) renewLeases(n int) (lease *coordinationv1.Lease) {
	s.t.Helper()
	for range n {
		s.leases++
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: objects.NodeName(s.leases % nodes)}}
		s.must(s.server.Get(lease))
		lease.Spec.RenewTime = &metav1.MicroTime{Time: s.clock.Now().Add(time.Duration(s.leases) * time.Microsecond)}
		s.must(s.server.Update(lease))
	}
	return lease
}

// changePods updates n Pods.
func (s *scene) changePods(round, n int) {
	s.t.Helper()
	for _, pod := range s.pods.Store().List()[:n] {
		pod = pod.DeepCopy()
		metav1.SetMetaDataLabel(&pod.ObjectMeta, "round", fmt.Sprint(round))
		_ = s.server.Update(pod) // one that has changed since has its event
	}
}

func (s *scene) changeNodes(n int) {
	s.t.Helper()
	for number := range n {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: objects.NodeName(number)}}
		s.must(s.server.Get(node))
		node.Labels["at"] = fmt.Sprint(s.clock.Now().Unix())
		s.must(s.server.Update(node))
	}
}

// rollout creates and deletes many Pods at once.
func (s *scene) rollout() {
	s.t.Helper()
	workload := objects.NewWorkload(seed, 100, "shop")
	for replica := range 150 {
		pod := workload.Pod(replica)
		pod.Spec.NodeName = objects.NodeName(replica % nodes)
		s.must(s.server.Create(pod))
	}
}

// addConfigMap creates a ConfigMap.
func (s *scene) addConfigMap(name string) {
	s.t.Helper()
	s.must(s.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}))
}
