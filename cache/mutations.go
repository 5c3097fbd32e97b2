package cache

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/mutation"
)

// ErrMutated is what an ErrorHandler hears of an object that somebody has written into
// although it is the cache's: see InformerOptions.DetectMutations.
var ErrMutated = mutation.ErrMutated

// mutationVariable is the environment variable of client-go's detector.
const mutationVariable = "KUBE_CACHE_MUTATION_DETECTOR"

// mutationPeriod is the time between two checks.
const mutationPeriod = time.Second

var errPackedMutations = errors.New("DetectMutations cannot be combined with Packed: what is packed is not what readers have")

// detector returns what finds writes into the informer's objects, nil if nobody asked.
func (o InformerOptions[T]) detector() *mutation.Detector {
	everywhere, _ := strconv.ParseBool(os.Getenv(mutationVariable)) //nolint:forbidigo // as of client-go, so that one switch is for a whole program
	if o.DetectMutations || everywhere && !o.Packed {
		return mutation.New()
	}
	return nil
}

// noted returns a function that notes each object it has decoded: the store's last step
// before others can have it.
func noted[T Object](decode func(feed.Item) (T, error), detector *mutation.Detector) func(feed.Item) (T, error) {
	return func(item feed.Item) (T, error) {
		obj, err := decode(item)
		if err == nil {
			detector.Add(item.Key, obj)
		}
		return obj, err
	}
}

// watchMutations checks the store's objects until stop, which returns after a last check.
func (s *SharedInformer[T]) watchMutations(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ticking, ok := s.options.Clock.(clock.WithTicker)
	if !ok {
		ticking = clock.RealClock{}
	}
	held := func(key string, object runtime.Object) bool {
		stored, exists := s.engine.Store().Get(key)
		return exists && runtime.Object(stored) == object
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.mutations.Run(ctx, ticking, mutationPeriod, held, func(err error) { s.report.handle(ctx, err) })
	}()
	return func() {
		cancel()
		<-ended
	}
}
