// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// churn is a cluster whose Deployments are rolled out one after the other, without end. Every tenth
// only changes the status of its Pods.
type churn struct {
	random      *rand.Rand
	codec       feed.Codec
	last        int // resourceVersion
	deployments []deployment
	marker      replica
	next        int // the replica to replace
	queue       []change
	raw         []byte
}

const replicas = 20

// deployment is a template and its Pods.
type deployment struct {
	pods    [replicas]replica
	current [numFields]string // the values of the ReplicaSet that is being rolled out
}

// replica is a Pod.
type replica struct {
	template *podTemplate
	prefix   string // of the key
	values   [numFields]string
}

// change is a future event.
type change struct {
	eventType watch.EventType
	pod       replica
}

func newChurn(pods int) *churn {
	c := &churn{random: rand.New(rand.NewPCG(1, 1)), last: 1_000_000_000, deployments: make([]deployment, pods/replicas)}
	for i := range c.deployments {
		d, namespace, name := &c.deployments[i], fmt.Sprint("namespace-", i/10), fmt.Sprintf("deployment-%d", i)
		template := newPodTemplate(c.random, namespace, name)
		d.current = c.replicaSet()
		for j := range d.pods {
			d.pods[j] = c.replica(replica{template: template, prefix: namespace + "/" + name}, d.current)
		}
	}
	c.marker = replica{template: newPodTemplate(c.random, "marker", "marker"), prefix: marker}
	return c
}

func (c *churn) namespaces() int { return (len(c.deployments) + 9) / 10 }

func (c *churn) pods() int { return len(c.deployments)*replicas + 1 }

func (c *churn) version() string { return fmt.Sprint(c.last) }

// replicaSet returns random values for the Pods of a new ReplicaSet to share.
func (c *churn) replicaSet() (values [numFields]string) {
	values[ownerField], values[hashField] = c.uid(), c.hex(10)
	return values
}

// replica returns a new Pod of a ReplicaSet.
func (c *churn) replica(of replica, set [numFields]string) replica {
	of.values = set
	of.values[uidField], of.values[suffixField], of.values[statusField] = c.uid(), c.hex(8), c.hex(64)
	return of
}

func (c *churn) hex(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "0123456789abcdef"[c.random.IntN(16)]
	}
	return string(text)
}

func (c *churn) uid() string {
	return c.hex(8) + "-" + c.hex(4) + "-4" + c.hex(3) + "-8" + c.hex(3) + "-" + c.hex(12)
}

// each adds all Pods.
func (c *churn) each(add func(feed.Item) error) error {
	for i := range c.deployments {
		for j := range c.deployments[i].pods {
			if err := add(c.item(&c.deployments[i].pods[j])); err != nil {
				return err
			}
		}
	}
	return add(c.item(&c.marker))
}

// item returns a Pod at the next version. Its bytes are valid until the next call.
func (c *churn) item(pod *replica) feed.Item {
	c.last++
	pod.values[versionField] = c.version()
	c.raw = pod.template.render(c.raw[:0], &pod.values)
	key := pod.prefix
	if key != marker {
		key = strings.Join([]string{pod.prefix, pod.values[hashField], pod.values[suffixField]}, "-")
	}
	return feed.Item{Key: key, UID: pod.values[uidField], ResourceVersion: pod.values[versionField], Raw: c.raw, Codec: c.codec}
}

// step sends one event.
func (c *churn) step(send func(watch.EventType, feed.Item) error) error {
	if len(c.queue) == 0 {
		c.replace()
	}
	first := &c.queue[0]
	c.queue = c.queue[1:]
	return send(first.eventType, c.item(&first.pod))
}

// replace queues the events of the next replica: five events that replace it, or one that changes
// its status.
func (c *churn) replace() {
	i, j := c.next/replicas%len(c.deployments), c.next%replicas
	d := &c.deployments[i]
	c.next++
	old := &d.pods[j]
	c.queue = c.queue[:0:0]
	if i%10 == 0 {
		old.values[statusField] = c.hex(64)
		c.queue = append(c.queue, change{watch.Modified, *old})
		return
	}
	if j == 0 {
		d.current = c.replicaSet()
	}
	pod := c.replica(*old, d.current)
	c.queue = append(c.queue, change{watch.Added, pod})
	for range 2 {
		pod.values[statusField] = c.hex(64)
		c.queue = append(c.queue, change{watch.Modified, pod})
	}
	c.queue = append(c.queue, change{watch.Modified, *old}, change{watch.Deleted, *old})
	*old = pod
}

// The fields of a template that differ between Pods and between the states of a Pod.
const (
	uidField = iota
	ownerField
	hashField
	suffixField
	versionField
	statusField
	numFields
)

// sampleValues are the encoded values of a template's fields. Other values have the same lengths.
var sampleValues = [numFields]string{
	"01010101-0101-4101-8101-010101010101", "02020202-0202-4202-8202-020202020202",
	"0303030303", "04f404f4", "1000000005", strings.Repeat("0f06", 16),
}

// podTemplate is the protobuf of a Pod and the positions of its fields.
type podTemplate struct {
	raw       []byte
	positions []position
}

// position is the offset of a field.
type position struct{ offset, field int }

func newPodTemplate(random *rand.Rand, namespace, name string) *podTemplate {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name + "-" + sampleValues[hashField] + "-" + sampleValues[suffixField],
		UID: types.UID(sampleValues[uidField]), ResourceVersion: sampleValues[versionField],
		Labels: map[string]string{"app": name, "pod-template-hash": sampleValues[hashField]},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-" + sampleValues[hashField], UID: types.UID(sampleValues[ownerField]), Controller: new(true),
		}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
			FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:phase":{},"f:podIP":{}}}`)},
		}},
	}, Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + sampleValues[statusField]}}}}
	if name == "marker" {
		pod.Name = name
	}
	for i := range 1 + random.IntN(3) {
		c := corev1.Container{Name: fmt.Sprint("container-", i), Image: fmt.Sprintf("registry.example.com/team-%d/%s:v%d", random.IntN(9), name, random.IntN(99))}
		for j := range 5 + random.IntN(20) {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", j), Value: fmt.Sprintf("value-%x", random.Uint64())})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	raw, err := pod.Marshal()
	if err != nil {
		panic(err)
	}
	t := &podTemplate{raw: raw}
	for field, value := range sampleValues {
		for offset := 0; ; offset += len(value) {
			n := bytes.Index(raw[offset:], []byte(value))
			if n < 0 {
				break
			}
			offset += n
			t.positions = append(t.positions, position{offset, field})
		}
	}
	return t
}

// render appends a Pod. A field without a value keeps its sample value.
func (t *podTemplate) render(dst []byte, values *[numFields]string) []byte {
	dst = append(dst, t.raw...)
	for _, p := range t.positions {
		copy(dst[p.offset:], values[p.field])
	}
	return dst
}
