// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// sweeper deletes, each minute, the Secrets whose ConfigMap is gone.
//
// The bug: it looks for the ConfigMap in its cache alone, so that it deletes the Secret of a new
// one that it has not received yet. The mended one asks the API server before it deletes.
type sweeper struct {
	kubernetes.Interface
	configMaps corelisters.ConfigMapNamespaceLister
	secrets    corelisters.SecretNamespaceLister
	mended     bool
}

func sweepByCache(mended bool) simulate.Test {
	return simulate.Test{
		Start: withClient(func(ctx context.Context, client kubernetes.Interface) error {
			factory := informers.NewSharedInformerFactory(client, 0)
			s := sweeper{
				Interface: client, mended: mended, configMaps: factory.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace),
				secrets: factory.Core().V1().Secrets().Lister().Secrets(namespace),
			}
			factory.Start(ctx.Done())
			defer factory.Shutdown()
			factory.WaitForCacheSync(ctx.Done())
			return every(ctx, time.Minute, func() { _ = s.sweep(ctx) }) // again in a minute
		}),
		Objects: []fake.Object{&corev1.ConfigMap{ObjectMeta: named("a")}, &corev1.Secret{ObjectMeta: named("a")}},
		Steps: func(w *simulate.World) {
			w.Sleep(20 * time.Second)
			w.Create(&corev1.ConfigMap{ObjectMeta: named("b")})
			w.Create(&corev1.Secret{ObjectMeta: named("b")})
			w.Settle()
			w.Delete(&corev1.ConfigMap{ObjectMeta: named("a")})
		},
	}
}

func (s sweeper) sweep(ctx context.Context) error {
	secrets, err := s.secrets.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, secret := range secrets {
		_, err := s.configMaps.Get(secret.Name)
		if apierrors.IsNotFound(err) && s.mended {
			_, err = s.CoreV1().ConfigMaps(namespace).Get(ctx, secret.Name, metav1.GetOptions{})
		}
		if !apierrors.IsNotFound(err) {
			continue
		}
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID}}
		if err := s.CoreV1().Secrets(namespace).Delete(ctx, secret.Name, options); ignoring(isReplaced, err) != nil {
			return err
		}
	}
	return nil
}
