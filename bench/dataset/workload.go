package dataset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The bounds of a Pod's protobuf, in bytes, and how much room a shape leaves for
// its Pods to differ.
const (
	MinPodSize = 4 * 1024
	MaxPodSize = 8 * 1024

	sizeMargin = 250
)

// workload is a shape, and what its Pods have in common besides.
type workload struct {
	number  int
	created metav1.Time
	meta    metav1.ObjectMeta // without what is each Pod's own
	spec    corev1.PodSpec
	images  []string // what the kubelet says each container's image is

	scheduled bool // the scheduler wrote a condition before it found a node
	network   bool // a network plugin annotates the Pods

	byController string // the FieldsV1 of the managers that every Pod has
	byKubelet    string
}

// newWorkload draws shapes until one is of the right size, which nearly all are.
func newWorkload(seed uint64, number int) *workload {
	d := newDraw(seed, streamWorkload, number)
	for { // about one and a half times, on average
		w := drawWorkload(d, number)
		size := w.pod(0, newDraw(seed, streamPod, number)).Size()
		if size >= MinPodSize+sizeMargin && size <= MaxPodSize-sizeMargin {
			return w
		}
	}
}

func drawWorkload(d draw, number int) *workload {
	app := d.word() + "-" + pick(d, "api", "worker", "web", "cron", "sync") + "-" + d.suffix(3)
	hash := d.suffix(10)
	set := app + "-" + hash
	w := &workload{number: number, created: d.moment(60), scheduled: d.chance(25), network: d.chance(25)}
	w.meta = metav1.ObjectMeta{
		GenerateName:    set + "-",
		Namespace:       fmt.Sprintf("%s-%03d", pick(d, "prod", "staging", "batch"), number/25),
		Generation:      1,
		Labels:          drawLabels(d, app, hash),
		Annotations:     drawAnnotations(d),
		OwnerReferences: ownerOf(set, d),
	}
	w.spec = drawSpec(d, app)
	for range w.spec.Containers {
		w.images = append(w.images, d.hex(64))
	}
	w.byController, w.byKubelet = w.controllerFields(), w.kubeletFields()
	return w
}

func drawLabels(d draw, app, hash string) map[string]string {
	labels := map[string]string{"app.kubernetes.io/name": app, "pod-template-hash": hash}
	optional := [][2]string{
		{"app.kubernetes.io/instance", app + "-" + pick(d, "eu", "us", "ap")},
		{"app.kubernetes.io/managed-by", "Helm"},
		{"app.kubernetes.io/component", d.word()},
		{"app.kubernetes.io/version", version(d)},
		{"helm.sh/chart", d.word() + "-" + version(d)},
		{"team", d.team()},
		{"tier", pick(d, "frontend", "backend", "batch")},
		{"security.istio.io/tlsMode", "istio"},
		{"topology.example.com/cell", d.suffix(6)},
	}
	for _, label := range optional {
		if d.chance(35) {
			labels[label[0]] = label[1]
		}
	}
	return labels
}

func drawAnnotations(d draw) map[string]string {
	annotations := map[string]string{"checksum/config": d.hex(64)}
	if d.chance(40) {
		annotations["prometheus.io/scrape"] = "true"
		annotations["prometheus.io/port"] = fmt.Sprint(d.between(8000, 9999))
		annotations["prometheus.io/path"] = "/metrics"
	}
	if d.chance(30) {
		annotations["kubectl.kubernetes.io/restartedAt"] = d.moment(60).Format("2006-01-02T15:04:05Z")
	}
	if d.chance(15) {
		annotations["sidecar.istio.io/status"] = fmt.Sprintf(`{"initContainers":["istio-init"],"containers":["istio-proxy"],`+
			`"volumes":["workload-socket","istio-envoy","istio-data","istio-token"],"revision":"%s"}`, d.suffix(8))
	}
	for i := range d.few(3) {
		annotations[fmt.Sprintf("%s.example.com/note-%d", d.team(), i)] = d.hex(d.between(8, 100))
	}
	return annotations
}

func version(d draw) string {
	return fmt.Sprintf("%d.%d.%d", d.between(0, 5), d.between(0, 40), d.between(0, 20))
}
