// Package realserver runs a real kube-apiserver that has the Pods of a data set, for
// measurements of what a client costs over TLS. The servers are those of the
// end-to-end tests.
package realserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/e2e/cluster"
)

// Server is a kube-apiserver with its etcd.
type Server struct{ cluster *cluster.Cluster }

// startTimeout is for booting and filling, with the servers built.
const startTimeout = 3 * time.Minute

// writers is how many Pods are written at a time.
const writers = 8

// Start boots the servers, writes the first n Pods of a set into etcd, and returns
// once the API serves all of them. The caller has to call Stop.
//
// The Pods are what the data set says, but for their versions, which are etcd's:
// with the status and the managers that a Pod gets in the course of its life.
func Start(set dataset.Replicas, n int) (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return nil, err
	}
	s := &Server{c}
	if err := errors.Join(s.fill(ctx, set, n), s.serves(ctx, n)); err != nil {
		return nil, errors.Join(fmt.Errorf("fill kube-apiserver: %w", err), s.Stop())
	}
	return s, nil
}

// Config is what a client needs.
func (s *Server) Config() *rest.Config { return s.cluster.Config() }

// Stop ends the servers and removes what they have written.
func (s *Server) Stop() error { return s.cluster.Stop() }

func (s *Server) fill(ctx context.Context, set dataset.Replicas, n int) error {
	pods := dataset.NewPods(set, 1)
	errs := make([]error, writers)
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := w * n / writers; i < (w+1)*n/writers && errs[w] == nil; i++ {
				errs[w] = s.put(ctx, pods.Pod(i))
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// put writes a Pod as the API server would.
func (s *Server) put(ctx context.Context, pod *corev1.Pod) error {
	pod.ResourceVersion = ""
	return s.cluster.Put(ctx, "pods/"+pod.Namespace+"/"+pod.Name, "v1", "Pod", pod)
}

// serves makes sure that the API has all Pods. A list without a version is as new
// as etcd, so that kube-apiserver's own cache is, too, when it returns.
func (s *Server) serves(ctx context.Context, n int) error {
	client, err := metadata.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(ctx, metav1.ListOptions{})
	if err == nil && len(list.Items) != n {
		err = fmt.Errorf("%d Pods are served of %d", len(list.Items), n)
	}
	return err
}
