package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// podScope is the scope of the factory's informers in these tests.
var podScope = cache.InformerKey{Resource: corev1.SchemeGroupVersion.WithResource("pods")}

// factoryRig is a Factory that runs in a bubble, and how often informers were built.
type factoryRig struct {
	*cache.Factory
	t       *testing.T
	lw      *fake.ListerWatcher[*corev1.Pod]
	built   int
	stopRun func() error
}

func inFactory(t *testing.T, test func(f *factoryRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &factoryRig{Factory: cache.NewFactory(cache.FactoryOptions{}), t: t, lw: fake.NewListerWatcher(&corev1.Pod{})}
		f.lw.Create(cachetest.Pod("a"))
		test(f)
		if f.stopRun != nil {
			if err := f.stopRun(); err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	})
}

func (f *factoryRig) start() {
	ctx, cancel := context.WithCancel(f.t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- f.Run(ctx) }()
	synctest.Wait()
	f.stopRun = func() error {
		cancel()
		return <-stopped
	}
}

func (f *factoryRig) claim(namespace string) *cache.InformerRef[*corev1.Pod] {
	f.t.Helper()
	scope := podScope
	scope.Namespace = namespace
	c, err := cache.InformerFor(f.Factory, scope, func() *cache.SharedInformer[*corev1.Pod] {
		f.built++
		return cache.NewSharedInformer(f.lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods of " + namespace})
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// One informer for each scope, whoever asks and when.
func TestFactoryShares(t *testing.T) {
	inFactory(t, func(f *factoryRig) {
		early, other := f.claim(""), f.claim("x")
		if early.Informer().Status().Phase != cache.PhaseIdle {
			t.Error("an informer runs before the factory does")
		}
		f.start()
		late := f.claim("")
		if early.Informer() != late.Informer() || early.Informer() == other.Informer() || f.built != 2 {
			t.Errorf("%d informers built", f.built)
		}
		if err := f.WaitForSync(f.t.Context()); err != nil || early.Informer().Store().Len() != 1 {
			t.Errorf("WaitForSync: %v", err)
		}
		if len(f.Status()) != 2 {
			t.Errorf("status %+v", f.Status())
		}
	})
}

// The last claim released stops an informer, but not at once, and not if somebody comes
// back; what comes later begins anew.
func TestFactoryLingers(t *testing.T) {
	inFactory(t, func(f *factoryRig) {
		f.start()
		one, two := f.claim(""), f.claim("")
		first := one.Informer()
		one.Release()
		one.Release()
		cachetest.Advance(time.Hour)
		if first.Status().Phase != cache.PhaseWatching {
			t.Fatal("an informer has stopped that is claimed")
		}
		two.Release()
		cachetest.Advance(59 * time.Second)
		three := f.claim("")
		cachetest.Advance(time.Hour)
		if three.Informer() != first || first.Status().Phase != cache.PhaseWatching {
			t.Fatal("an informer has stopped that was claimed again")
		}
		three.Release()
		cachetest.Advance(61 * time.Second)
		if first.Status().Phase != cache.PhaseStopped || len(f.Status()) != 0 {
			t.Error("an informer runs that nobody has claimed for a minute")
		}
		again := f.claim("")
		if err := again.Informer().WaitForSync(f.t.Context()); err != nil || again.Informer() == first || f.built != 2 {
			t.Errorf("the next one: %v, %d built", err, f.built)
		}
		again.Release() // Run ends while it lingers
	})
}

// What goes wrong is said: for each informer its own cause.
func TestFactoryErrors(t *testing.T) {
	inFactory(t, func(f *factoryRig) {
		f.claim("").Release() // before Run nothing lingers
		if len(f.Status()) != 0 {
			t.Error("an informer is left")
		}
		forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no"))
		f.lw.InjectListFault(2, fake.Fault{Err: forbidden})
		f.claim("a")
		f.claim("b")
		f.start()
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Second/2)
		defer cancel()
		err := f.WaitForSync(ctx)
		if !apierrors.IsForbidden(err) || !cachetest.ErrorContains("pods of a")(err) || !cachetest.ErrorContains("pods of b")(err) {
			t.Errorf("WaitForSync: %v", err)
		}
		if err := f.Run(f.t.Context()); !errors.Is(err, cache.ErrAlreadyRunning) {
			t.Errorf("Run beside Run: %v", err)
		}
		if err := f.stopRun(); err != nil {
			t.Error(err)
		}
		f.stopRun = nil
		if err := f.Run(f.t.Context()); !errors.Is(err, cache.ErrStopped) {
			t.Errorf("Run after Run: %v", err)
		}
		if _, err := cache.InformerFor(f.Factory, podScope, func() *cache.SharedInformer[*corev1.Pod] { return nil }); !errors.Is(err, cache.ErrStopped) || !cachetest.ErrorContains("pods")(err) {
			t.Errorf("InformerFor after Run: %v", err)
		}
	})
}

// An informer that cannot run is reported once for its scope, however often it was claimed.
func TestFactoryReportsEachScopeOnce(t *testing.T) {
	inFactory(t, func(f *factoryRig) {
		f.start()
		for range 3 {
			claim, err := cache.InformerFor(f.Factory, podScope, func() *cache.SharedInformer[*corev1.Pod] {
				return cache.NewSharedInformer(nil, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods of nobody"})
			})
			if err != nil {
				t.Fatal(err)
			}
			claim.Release()
			cachetest.Advance(2 * time.Minute) // longer than it lingers
		}
		err := f.stopRun()
		f.stopRun = nil
		if err == nil || strings.Count(err.Error(), "pods of nobody") != 1 {
			t.Errorf("Run: %v", err)
		}
	})
}
