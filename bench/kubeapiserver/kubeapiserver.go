// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeapiserver runs a real kube-apiserver with the Pods of a data set, to measure clients
// over TLS. It uses the binaries of the end-to-end tests.
package kubeapiserver

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

// startTimeout limits the start of the servers and the writing of the Pods.
const startTimeout = 3 * time.Minute

// writers is the number of goroutines that write Pods.
const writers = 8

// Start starts the servers, writes the first n Pods of a set into etcd, and returns once the API
// serves all of them. The caller must call Stop.
//
// The Pods are those of the data set, status and managedFields included. Only their resource
// versions are etcd's.
func Start(perWorkload dataset.PodsPerWorkload, n int) (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return nil, err
	}
	s := &Server{c}
	if err := errors.Join(s.fill(ctx, perWorkload, n), s.checkServed(ctx, n)); err != nil {
		return nil, errors.Join(fmt.Errorf("fill kube-apiserver: %w", err), s.Stop())
	}
	return s, nil
}

// Config returns the configuration of a client.
func (s *Server) Config() *rest.Config { return s.cluster.Config() }

// Stop stops the servers and removes their data.
func (s *Server) Stop() error { return s.cluster.Stop() }

func (s *Server) fill(ctx context.Context, perWorkload dataset.PodsPerWorkload, n int) error {
	pods := dataset.NewPods(perWorkload, 1)
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

// put writes a Pod into etcd as the API server does.
func (s *Server) put(ctx context.Context, pod *corev1.Pod) error {
	pod.ResourceVersion = ""
	return s.cluster.Put(ctx, "pods/"+pod.Namespace+"/"+pod.Name, "v1", "Pod", pod)
}

// checkServed returns an error if the API does not serve n Pods. It lists without a
// resourceVersion, which waits until kube-apiserver's watch cache is as new as etcd.
func (s *Server) checkServed(ctx context.Context, n int) error {
	client, err := metadata.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(ctx, metav1.ListOptions{})
	if err == nil && len(list.Items) != n {
		err = fmt.Errorf("list has %d Pods, want %d", len(list.Items), n)
	}
	return err
}
