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

// churn is a cluster whose Deployments are rolled out one after the other, for ever,
// but for every tenth.
type churn struct {
	random      *rand.Rand
	codec       feed.Codec
	last        int // resourceVersion
	deployments []deployment
	mark        replica
	at          int // the replica that is being replaced
	queue       []change
	raw         []byte
}

const replicas = 20

// deployment is a template and its Pods.
type deployment struct {
	pods  [replicas]replica
	fresh [holes]string // the values of the ReplicaSet that is rolled out
}

// replica is a Pod.
type replica struct {
	template *podTemplate
	prefix   string // of its key
	values   [holes]string
}

// change is an event of a Pod to come.
type change struct {
	eventType watch.EventType
	pod       replica
}

func newChurn(pods int) *churn {
	c := &churn{random: rand.New(rand.NewPCG(1, 1)), last: 1_000_000_000, deployments: make([]deployment, pods/replicas)}
	for i := range c.deployments {
		d, namespace, name := &c.deployments[i], fmt.Sprint("namespace-", i/10), fmt.Sprintf("deployment-%d", i)
		template := newPodTemplate(c.random, namespace, name)
		d.fresh = c.replicaSet()
		for j := range d.pods {
			d.pods[j] = c.replica(replica{template: template, prefix: namespace + "/" + name}, d.fresh)
		}
	}
	c.mark = replica{template: newPodTemplate(c.random, "mark", "mark"), prefix: mark}
	return c
}

func (c *churn) namespaces() int { return (len(c.deployments) + 9) / 10 }

func (c *churn) pods() int { return len(c.deployments)*replicas + 1 }

func (c *churn) version() string { return fmt.Sprint(c.last) }

// replicaSet draws the values that the Pods of a new ReplicaSet have in common.
func (c *churn) replicaSet() (values [holes]string) {
	values[ownerHole], values[hashHole] = c.uid(), c.hex(10)
	return values
}

// replica returns a new Pod of a ReplicaSet.
func (c *churn) replica(of replica, set [holes]string) replica {
	of.values = set
	of.values[uidHole], of.values[suffixHole], of.values[statusHole] = c.uid(), c.hex(8), c.hex(64)
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
	return add(c.item(&c.mark))
}

// item makes an item of a Pod at the next version. Its bytes are lent until the next
// one is made.
func (c *churn) item(pod *replica) feed.Item {
	c.last++
	pod.values[versionHole] = c.version()
	c.raw = pod.template.render(c.raw[:0], &pod.values)
	key := pod.prefix
	if key != mark {
		key = strings.Join([]string{pod.prefix, pod.values[hashHole], pod.values[suffixHole]}, "-")
	}
	return feed.Item{Key: key, UID: pod.values[uidHole], ResourceVersion: pod.values[versionHole], Raw: c.raw, Codec: c.codec}
}

// step sends one event.
func (c *churn) step(send func(watch.EventType, feed.Item) error) error {
	if len(c.queue) == 0 {
		c.replace()
	}
	next := &c.queue[0]
	c.queue = c.queue[1:]
	return send(next.eventType, c.item(&next.pod))
}

// replace draws what happens to the next Pod: it is replaced, in five events, or stays
// and has another status.
func (c *churn) replace() {
	i, j := c.at/replicas%len(c.deployments), c.at%replicas
	d := &c.deployments[i]
	c.at++
	old := &d.pods[j]
	c.queue = c.queue[:0:0]
	if i%10 == 0 {
		old.values[statusHole] = c.hex(64)
		c.queue = append(c.queue, change{watch.Modified, *old})
		return
	}
	if j == 0 {
		d.fresh = c.replicaSet()
	}
	pod := c.replica(*old, d.fresh)
	c.queue = append(c.queue, change{watch.Added, pod})
	for range 2 {
		pod.values[statusHole] = c.hex(64)
		c.queue = append(c.queue, change{watch.Modified, pod})
	}
	c.queue = append(c.queue, change{watch.Modified, *old}, change{watch.Deleted, *old})
	*old = pod
}

// The holes in a template's bytes: what differs from Pod to Pod and from state to state.
const (
	uidHole = iota
	ownerHole
	hashHole
	suffixHole
	versionHole
	statusHole
	holes
)

// fillings are what a template is encoded with, in each hole: values of their lengths.
var fillings = [holes]string{
	"01010101-0101-4101-8101-010101010101", "02020202-0202-4202-8202-020202020202",
	"0303030303", "04f404f4", "1000000005", strings.Repeat("0f06", 16),
}

// podTemplate is the protobuf of a Pod and where its holes are.
type podTemplate struct {
	raw    []byte
	places []place
}

type place struct{ at, hole int }

func newPodTemplate(random *rand.Rand, namespace, name string) *podTemplate {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name + "-" + fillings[hashHole] + "-" + fillings[suffixHole],
		UID: types.UID(fillings[uidHole]), ResourceVersion: fillings[versionHole],
		Labels: map[string]string{"app": name, "pod-template-hash": fillings[hashHole]},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-" + fillings[hashHole], UID: types.UID(fillings[ownerHole]), Controller: new(true),
		}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
			FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:phase":{},"f:podIP":{}}}`)},
		}},
	}, Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + fillings[statusHole]}}}}
	if name == "mark" {
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
	for hole, filling := range fillings {
		for at := 0; ; at += len(filling) {
			n := bytes.Index(raw[at:], []byte(filling))
			if n < 0 {
				break
			}
			at += n
			t.places = append(t.places, place{at, hole})
		}
	}
	return t
}

// render appends a Pod. What it has no value for stays as it was encoded.
func (t *podTemplate) render(dst []byte, values *[holes]string) []byte {
	dst = append(dst, t.raw...)
	for _, p := range t.places {
		copy(dst[p.at:], values[p.hole])
	}
	return dst
}
