// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// refusing returns a ListerWatcher of one ConfigMap in each of the namespaces a and secret, whose
// lists of some namespaces are forbidden until allowed is set.
func refusing(allowed *atomic.Bool, namespaces ...string) *rules {
	server := fake.NewListerWatcher(&corev1.ConfigMap{})
	server.BookmarkEvery(time.Minute)
	server.Create(configMap("a/1"))
	server.Create(configMap("secret/1"))
	return &rules{ListerWatcher: server, list: func(options metav1.ListOptions) error {
		for _, namespace := range namespaces {
			if strings.Contains(options.FieldSelector, "metadata.namespace="+namespace) && !allowed.Load() {
				return fake.Forbidden()
			}
		}
		return nil
	}}
}

// expectUnhealthy checks that a condition says that the store has been of no use for a day.
func expectUnhealthy(t *testing.T, informer *cache.SharedInformer[*corev1.ConfigMap]) {
	t.Helper()
	if s := informer.Status(); s.Synced || s.Freshness.Staleness < 24*time.Hour || !apierrors.IsForbidden(s.Err) {
		t.Errorf("synced %v, stale for %v, error %v", s.Synced, s.Freshness.Staleness, s.Err)
	}
	if err := informer.HealthCheck(cache.HealthOptions{})(nil); !apierrors.IsForbidden(err) {
		t.Errorf("HealthCheck: %v", err)
	}
}

func TestScopesThatWereNeverListedAreUnhealthy(t *testing.T) {
	all := namespaces("a", "secret")
	for name, scopes := range map[string]*cache.Scopes{"of the start": cache.NewScopes(all...), "added later": cache.NewScopes()} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			var allowed atomic.Bool
			options := cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes}
			informer := cache.NewSharedInformer(refusing(&allowed, "a", "secret"), &corev1.ConfigMap{}, options)
			start(t, informer)
			synctest.Wait()
			if err := scopes.Set(all...); err != nil {
				t.Fatal(err)
			}
			<-time.After(24*time.Hour + time.Minute)
			expectUnhealthy(t, informer)
			allowed.Store(true)
			<-time.After(5 * time.Minute)
			s := informer.Status()
			if err := informer.HealthCheck(cache.HealthOptions{MaxStaleness: 5 * time.Minute})(nil); err != nil || !s.Synced {
				t.Errorf("once allowed: %v, synced %v", err, s.Synced)
			}
		})
	}
}

// A scope that is held and was never listed makes the informer older.
func TestScopeThatWasNeverListedCountsInStaleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allowed atomic.Bool
		scopes := cache.NewScopes(namespaces("a")...)
		informer := runInformer(t, refusing(&allowed, "secret"), &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		<-time.After(time.Hour)
		expect := func(when string, atLeast, below time.Duration) {
			t.Helper()
			s := informer.Status()
			err := informer.HealthCheck(cache.HealthOptions{MaxStaleness: 5 * time.Minute})(nil)
			if s.Freshness.Staleness < atLeast || s.Freshness.Staleness >= below || !s.Synced || (err != nil) != (atLeast > 5*time.Minute) {
				t.Errorf("%s: synced %v, stale for %v, HealthCheck %v", when, s.Synced, s.Freshness.Staleness, err)
			}
		}
		expect("before", 0, 2*time.Minute)
		_ = scopes.Add(namespaces("secret")...)
		synctest.Wait()
		expect("just added", 0, 2*time.Minute)
		<-time.After(time.Hour)
		expect("refused", time.Hour, 2*time.Hour)
		view := informer.InScope(namespaces("secret")[0])
		if s, err := view.Status(); err != nil || s.Synced || s.Freshness.Staleness < time.Hour {
			t.Errorf("the scope: synced %v, stale for %v, %v", s.Synced, s.Freshness.Staleness, err)
		}
		_ = scopes.Remove(namespaces("secret")...)
		synctest.Wait()
		expect("removed", 0, 2*time.Minute)
		_ = scopes.Add(namespaces("secret")...)
		<-time.After(time.Hour)
		allowed.Store(true)
		<-time.After(5 * time.Minute)
		expect("allowed", 0, 2*time.Minute)
	})
}

// The cause of scopes that are not known is that of the informer of Namespaces.
func TestNamespacesThatCannotBeListedAreTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &refusedNamespaces{fake.NewListerWatcher(&corev1.Namespace{})}
		all := cache.NewSharedInformer(refused, &corev1.Namespace{}, cache.InformerOptions[*corev1.Namespace]{})
		scopes, err := cache.NamespaceScopes(all, labels.Everything())
		if err != nil {
			t.Fatal(err)
		}
		informer := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.ConfigMap{}), &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		start(t, informer)
		expect := func(cause string, forbidden bool) {
			t.Helper()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			s := informer.Status()
			for what, err := range map[string]error{
				"WaitForSync": informer.WaitForSync(ctx), "Status": s.Err, "HealthCheck": informer.HealthCheck(cache.HealthOptions{})(nil),
			} {
				if err == nil || !strings.Contains(err.Error(), cause) || apierrors.IsForbidden(err) != forbidden {
					t.Errorf("%s: %v, want %q", what, err, cause)
				}
			}
			if s.Synced || s.Phase != cache.PhaseListing {
				t.Errorf("synced %v, phase %v", s.Synced, s.Phase)
			}
		}
		synctest.Wait()
		expect("Run has not been called", false)
		start(t, all)
		<-time.After(time.Hour)
		expect("the namespaces of the scopes are not known", true)
	})
}

// refusedNamespaces is a server that forbids to list Namespaces.
type refusedNamespaces struct {
	*fake.ListerWatcher[*corev1.Namespace]
}

func (r *refusedNamespaces) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return nil, fake.Forbidden()
}
