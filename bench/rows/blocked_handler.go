package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/cache"
)

// P8 is how the heap grows while one handler is stuck in its first update, and updates of
// 10,000 Pods go on. Beside client-go, whose handler is kept every update, stands what
// ours keeps by default, for which the goal is set by the number of objects: two states
// of each and 200 bytes; and then what a handler of EveryEvent keeps where the objects
// are packed: of small Pods that share all but their versions, and of real ones. How much a client-go handler is kept grows with the updates and with nothing
// else, so it is sent fewer of them, and its growth is scaled.

// theirShare of all updates are sent to whoever keeps every one.
const theirShare = 5

func stuckHandler(scale Scale) []harness.Experiment {
	return []harness.Experiment{{
		Name: "P8", What: fmt.Sprintf("heap growth, a handler stuck, %d updates of %d Pods (client-go's scaled from a %dth)", scale.Updates, eventKeys, theirShare),
		Sides: versus(), Rounds: 1,
		Metrics: []harness.Metric{{What: "bytes", Unit: "MB"}, {What: "of Pods x (two of them + 200 B)", Unit: "x", Goal: harness.Within(1, "x")}},
		Prepare: func() ([]harness.Measure, error) {
			bound := float64(eventKeys) * (2*podSize() + 200)
			growth := func(stick stick, share int) harness.Measure {
				return func() ([]float64, error) {
					grown, err := grownBy(scale.Updates/share, &smallSource{pods: smallPods(eventKeys, namespaceOf(0))}, stick)
					return []float64{grown * float64(share) / 1e6, grown * float64(share) / bound}, err
				}
			}
			return []harness.Measure{growth(sticksShared(cache.InformerOptions[*corev1.Pod]{}, cache.CoalesceWhenBehind), 1), growth(sticksClientGo, theirShare)}, nil
		},
	},
		everyEvent(scale.Updates/theirShare, "small Pods", harness.Goal{}, func() source { return &smallSource{pods: smallPods(eventKeys, namespaceOf(0))} }),
		everyEvent(scale.Updates/20, "Pods of "+dataset.R20.String(), harness.AtMost(1.0/8), func() source { return newRealSource(eventKeys / 10) }),
	}
}

// everyEvent is what a stuck handler keeps of each update that it is to be told.
func everyEvent(n int, what string, goal harness.Goal, newSource func() source) harness.Experiment {
	return harness.Experiment{
		Name: "P8", What: fmt.Sprintf("a handler of EveryEvent stuck, packed, %d updates of %s", n, what),
		Sides: append(versus(), "kinformer, live"), Rounds: 1,
		Metrics: []harness.Metric{{What: "heap growth an update", Unit: "B", Goal: goal}},
		Prepare: func() ([]harness.Measure, error) {
			var measures []harness.Measure
			for _, stick := range []stick{
				sticksShared(cache.InformerOptions[*corev1.Pod]{Packed: true}, cache.EveryEvent), sticksClientGo,
				sticksShared(cache.InformerOptions[*corev1.Pod]{}, cache.EveryEvent),
			} {
				measures = append(measures, func() ([]float64, error) {
					grown, err := grownBy(n, newSource(), stick)
					return []float64{max(0, grown) / float64(n)}, err
				})
			}
			return measures, nil
		},
	}
}

// source is where the Pods come from.
type source interface {
	all() []corev1.Pod
	// next returns a later state of one of them, the i-th that there is.
	next(i int) (*corev1.Pod, error)
}

// smallSource is of Pods that share all but their versions.
type smallSource struct{ pods []corev1.Pod }

func (s *smallSource) all() []corev1.Pod               { return s.pods }
func (s *smallSource) next(i int) (*corev1.Pod, error) { return nextPod(s.pods, i), nil }

// realSource is of Pods each of which is decoded, as from a server.
type realSource struct {
	pods []corev1.Pod
	raw  [][]byte
}

func newRealSource(n int) *realSource {
	s := &realSource{}
	for _, pod := range dataset.NewPods(dataset.R20, 1).Take(n) {
		raw, err := pod.Marshal()
		if err != nil {
			panic(err) // a Pod always has a protobuf
		}
		s.pods, s.raw = append(s.pods, *pod), append(s.raw, raw)
	}
	return s
}

func (s *realSource) all() []corev1.Pod { return s.pods }

func (s *realSource) next(i int) (*corev1.Pod, error) {
	pod := new(corev1.Pod)
	err := pod.Unmarshal(s.raw[scatter(i, len(s.raw))])
	pod.ResourceVersion = dataset.Version(laterVersion + i)
	return pod, err
}

// laterVersion is after every version of the data.
const laterVersion = 10_000_000

// podSize returns what one state of a Pod takes, as updates make it.
func podSize() float64 {
	const n = 10_000
	pods := smallPods(n, namespaceOf(0))
	before := heap()
	states := updates(pods, n)
	size := math.Round(float64(heap()-before) / n)
	runtime.KeepAlive([]any{pods, states})
	return size
}

// stick runs an informer of a collection with a handler that calls stuck in its first
// update, and does not return from it. reached waits until the informer has taken in, and
// passed on, what the watch has sent up to a version.
type stick func(c collection, stuck func()) (informer subject, reached func(version string) error, err error)

// grownBy returns by how many bytes the heap grows from the first update, in which the
// handler gets stuck, to the last.
func grownBy(n int, source source, stick stick) (grown float64, err error) {
	watcher := watch.NewFakeWithChanSize(1000, false)
	isStuck, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	informer, reached, err := stick(newCollection(source.all(), watcher), func() {
		once.Do(func() { close(isStuck) })
		<-resume
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, informer.stop()) }()
	defer close(resume)
	if _, err := send(watcher, source, 0, 1); err != nil {
		return 0, err
	}
	<-isStuck
	before := heap()
	last, err := send(watcher, source, 1, n)
	if err != nil {
		return 0, err
	}
	err = reached(last)
	grown = float64(heap()) - float64(before)
	runtime.KeepAlive(source)
	return grown, err
}

// send sends n updates, and returns the version of the last.
func send(watcher *watch.FakeWatcher, source source, from, n int) (last string, err error) {
	for i := from; i < from+n; i++ {
		pod, err := source.next(i)
		if err != nil {
			return "", err
		}
		watcher.Modify(pod)
		last = pod.ResourceVersion
	}
	return last, nil
}

func sticksShared(options cache.InformerOptions[*corev1.Pod], delivery cache.Delivery) stick {
	return func(c collection, stuck func()) (subject, func(string) error, error) {
		shared := newShared(c, options)
		handler := cache.ResourceEventHandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { stuck() }}
		registration, err := shared.AddEventHandler(handler, cache.HandlerOptions{Delivery: delivery})
		if err != nil {
			return subject{}, nil, err
		}
		informer, err := runShared(shared, nil, []*cache.Registration{registration})
		return informer, func(version string) error {
			ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
			defer cancel()
			return shared.WaitForResourceVersion(ctx, version)
		}, err
	}
}

// sticksClientGo has a second handler, which is told in its turn and says how far it is.
func sticksClientGo(c collection, stuck func()) (subject, func(string) error, error) {
	shared := newClientGo(c)
	first, err := shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { stuck() }})
	if err != nil {
		return subject{}, nil, err
	}
	versions := make(chan string, 1)
	_, err = shared.AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
		select {
		case <-versions: // one that nobody has looked at
		default:
		}
		versions <- obj.(*corev1.Pod).ResourceVersion
	}})
	if err != nil {
		return subject{}, nil, err
	}
	informer, err := runClientGo(shared, nil, []clientcache.InformerSynced{first.HasSynced})
	return informer, func(version string) error {
		for told := range versions {
			if told == version {
				break
			}
		}
		return nil
	}, err
}
