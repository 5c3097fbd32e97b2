// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The limits of a Pod's size in protobuf, in bytes. The first Pod of a workload keeps a margin to
// them, since the others differ in size.
const (
	minPodSize = 4 * 1024
	maxPodSize = 8 * 1024
	sizeMargin = 250
)

// workload is a ReplicaSet: the Pod template and everything else that its Pods have in common.
type workload struct {
	number  int
	created metav1.Time
	meta    metav1.ObjectMeta // without fields in which the Pods differ
	spec    corev1.PodSpec
	images  []string // image digest of each container

	scheduled bool // the scheduler set a condition before it found a node
	network   bool // a network plugin annotates the Pods

	byController string // FieldsV1 of kube-controller-manager
	byKubelet    string // FieldsV1 of the kubelet
}

// newWorkload returns a random workload whose Pods have the right size.
func newWorkload(seed uint64, number int) *workload {
	r := newRandom(seed, streamWorkload, number)
	for { // 1.5 attempts on average
		w := randomWorkload(r, number)
		size := w.pod(0, newRandom(seed, streamPod, number)).Size()
		if size >= minPodSize+sizeMargin && size <= maxPodSize-sizeMargin {
			return w
		}
	}
}

func randomWorkload(r random, number int) *workload {
	app := r.word() + "-" + pick(r, "api", "worker", "web", "cron", "sync") + "-" + r.suffix(3)
	hash := r.suffix(10)
	set := app + "-" + hash
	w := &workload{number: number, created: r.moment(60), scheduled: r.chance(25), network: r.chance(25)}
	w.meta = metav1.ObjectMeta{
		GenerateName:    set + "-",
		Namespace:       fmt.Sprintf("%s-%03d", pick(r, namespacePrefixes()...), number/25),
		Generation:      1,
		Labels:          randomLabels(r, app, hash),
		Annotations:     randomAnnotations(r),
		OwnerReferences: ownerOf(set, r),
	}
	w.spec = randomSpec(r, app)
	for range w.spec.Containers {
		w.images = append(w.images, r.hex(64))
	}
	w.byController, w.byKubelet = w.controllerFields(), w.kubeletFields()
	return w
}

// namespacePrefixes returns what the names of namespaces begin with.
func namespacePrefixes() []string { return []string{"prod", "staging", "batch"} }

func randomLabels(r random, app, hash string) map[string]string {
	labels := map[string]string{"app.kubernetes.io/name": app, "pod-template-hash": hash}
	optional := [][2]string{
		{"app.kubernetes.io/instance", app + "-" + pick(r, "eu", "us", "ap")},
		{"app.kubernetes.io/managed-by", "Helm"},
		{"app.kubernetes.io/component", r.word()},
		{"app.kubernetes.io/version", version(r)},
		{"helm.sh/chart", r.word() + "-" + version(r)},
		{"team", r.team()},
		{"tier", pick(r, "frontend", "backend", "batch")},
		{"security.istio.io/tlsMode", "istio"},
		{"topology.example.com/cell", r.suffix(6)},
	}
	for _, label := range optional {
		if r.chance(35) {
			labels[label[0]] = label[1]
		}
	}
	return labels
}

func randomAnnotations(r random) map[string]string {
	annotations := map[string]string{"checksum/config": r.hex(64)}
	if r.chance(40) {
		annotations["prometheus.io/scrape"] = "true"
		annotations["prometheus.io/port"] = fmt.Sprint(r.between(8000, 9999))
		annotations["prometheus.io/path"] = "/metrics"
	}
	if r.chance(30) {
		annotations["kubectl.kubernetes.io/restartedAt"] = r.moment(60).Format("2006-01-02T15:04:05Z")
	}
	if r.chance(15) {
		annotations["sidecar.istio.io/status"] = fmt.Sprintf(`{"initContainers":["istio-init"],"containers":["istio-proxy"],`+
			`"volumes":["workload-socket","istio-envoy","istio-data","istio-token"],"revision":"%s"}`, r.suffix(8))
	}
	for i := range r.few(3) {
		annotations[fmt.Sprintf("%s.example.com/note-%d", r.team(), i)] = r.hex(r.between(8, 100))
	}
	return annotations
}

func version(r random) string {
	return fmt.Sprintf("%d.%d.%d", r.between(0, 5), r.between(0, 40), r.between(0, 20))
}
