// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/e2e/objects"
)

const (
	namespace = "default"
	seed      = 20
	replicas  = 20 // of a ReplicaSet
	perNode   = 100
	writers   = 8
)

// contents is the cluster's contents: ReplicaSets of different shapes with all their Pods, bound
// and running, so that controllers have nothing to do.
type contents struct {
	cluster *cluster.Cluster
	client  kubernetes.Interface
	bytes   int // of all Pods

	mu   sync.Mutex // guards pods and bytes
	pods []*corev1.Pod
}

func (c *contents) fill(ctx context.Context, pods int) error {
	life := objects.NewLife(c.client, seed)
	for i := range (pods + perNode - 1) / perNode {
		if _, err := life.Join(ctx, objects.NewNode(seed, i)); err != nil {
			return err
		}
	}
	if err := parallel(pods/replicas, func(i int) error { return c.workload(ctx, life, i) }); err != nil {
		return err
	}
	return nil
}

// workload creates a ReplicaSet and its Pods. The first Pod is created by the API, so that the
// server computes its managedFields; the others are copies of it in etcd.
func (c *contents) workload(ctx context.Context, life *objects.Life, number int) error {
	workload := objects.NewWorkload(seed, number, namespace)
	first := workload.Pod(0)
	node := func(replica int) string { return objects.NodeName((number*replicas + replica) / perNode) }
	if err := c.put(ctx, "replicasets", "apps/v1", "ReplicaSet", replicaSet(workload, first)); err != nil {
		return err
	}
	created, err := life.Run(ctx, first, node(0))
	if err != nil {
		return err
	}
	c.record(created)
	for i := 1; i < replicas; i++ {
		like, pod := workload.Pod(i), created.DeepCopy()
		pod.Name, pod.UID, pod.ResourceVersion = like.Name, uuid.NewUUID(), ""
		pod.Spec.NodeName = node(i)
		pod.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", number/250, number%250, i+1)
		pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
		if err := c.put(ctx, "pods", "v1", "Pod", pod); err != nil {
			return err
		}
		c.record(pod)
	}
	return nil
}

func (c *contents) record(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods = append(c.pods, pod)
	c.bytes += pod.Size()
}

// replicaSet returns the owner of a workload's Pods.
func replicaSet(workload *objects.Workload, pod *corev1.Pod) *appsv1.ReplicaSet {
	const n int32 = replicas
	labels := map[string]string{"pod-template-hash": pod.Labels["pod-template-hash"]}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: workload.Name, UID: pod.OwnerReferences[0].UID, Generation: 1,
			CreationTimestamp: metav1.Now(), Labels: pod.Labels,
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(n),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
		Status: appsv1.ReplicaSetStatus{
			Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n, TerminatingReplicas: ptr.To[int32](0), ObservedGeneration: 1,
		},
	}
}

type storable interface {
	metav1.Object
	cluster.Message
}

func (c *contents) put(ctx context.Context, resource, apiVersion, kind string, obj storable) error {
	return c.cluster.Put(ctx, resource+"/"+namespace+"/"+obj.GetName(), apiVersion, kind, obj)
}

// change sets an annotation of a number of Pods, with one write for each.
func (c *contents) change(ctx context.Context, changes int, mark string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/mark":%q}}}`, mark)
	return parallel(changes, func(i int) error {
		pod := c.pods[i%len(c.pods)]
		_, err := c.client.CoreV1().Pods(namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "measure"})
		return err
	})
}

// parallel calls do n times, several calls at a time, until one fails.
func parallel(n int, do func(i int) error) error {
	next, failed := make(chan int), make(chan error, writers)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	defer group.Wait()
	defer close(next)
	for i := range n {
		select {
		case next <- i:
		case err := <-failed:
			return err
		}
	}
	return nil
}
