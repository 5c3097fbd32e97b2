// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// secretKeeper keeps a Secret with a password as long as the Cluster wants one. The Secret has no
// owner reference.
//
// The bug: it deletes the Secret by name if its cache has no Cluster that wants it. If it starts
// with an old state, it deletes the Secret of the Cluster that exists, and makes a new password
// later. The mended one deletes by UID, and reads the Cluster again after it has read the Secret.
// Without the second, it deletes a new Secret if it receives it before the new Cluster.
type secretKeeper struct {
	*operator
	secrets corelisters.SecretNamespaceLister
	mended  bool
}

func secretOfCluster(mended bool, steps func(*simulate.World)) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		k := secretKeeper{operator: o, mended: mended, secrets: watch(o, o.informers.Core().V1().Secrets()).Lister().Secrets(namespace)}
		return k.sync
	})
	test.Objects = []fake.Object{withTLS("on")}
	test.Steps = steps
	test.Disturb = restarts(mended)
	test.Invariants = []func(simulate.Write) error{wantedSecretIsKept}
	return test
}

func withTLS(tls string) *unstructured.Unstructured { return newCluster(map[string]any{"tls": tls}) }

// secretOfRecreatedCluster is a Cluster that is deleted and created.
func secretOfRecreatedCluster(mended bool) simulate.Test {
	return secretOfCluster(mended, func(w *simulate.World) {
		w.Delete(withTLS("on"))
		w.Settle()
		w.Create(withTLS("on"))
	})
}

// secretOfChangedCluster is a Cluster for which TLS is switched off and on.
func secretOfChangedCluster(mended bool) simulate.Test {
	return secretOfCluster(mended, func(w *simulate.World) {
		w.Update(withTLS("off"))
		w.Settle()
		w.Update(withTLS("on"))
	})
}

func wantsSecret(cluster *unstructured.Unstructured) bool {
	return cluster != nil && text(cluster, "spec", "tls") == "on"
}

// wantedSecretIsKept is an invariant: no Secret is deleted that the stored Cluster wants.
func wantedSecretIsKept(w simulate.Write) error {
	if w.Err != nil || w.Verb != "delete" || w.Resource.Resource != "secrets" {
		return nil
	}
	for _, cluster := range simulate.All[*unstructured.Unstructured](w.Before) {
		if wantsSecret(cluster) {
			return fmt.Errorf("Cluster %s wants the Secret", cluster.GetName())
		}
	}
	return nil
}

func (k secretKeeper) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	secret, err := k.secrets.Get(clusterName)
	if ignoring(apierrors.IsNotFound, err) != nil {
		return err
	}
	isWanted, exists := wantsSecret(cluster), err == nil
	switch secrets := k.CoreV1().Secrets(namespace); {
	case isWanted && !exists:
		_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: named(clusterName), Data: map[string][]byte{"password": []byte("secret")}}, metav1.CreateOptions{})
		return ignoring(apierrors.IsAlreadyExists, err)
	case !isWanted && exists && k.mended:
		return k.deleteUnwanted(ctx, secret)
	case !isWanted && exists:
		return ignoring(apierrors.IsNotFound, secrets.Delete(ctx, clusterName, metav1.DeleteOptions{}))
	case isWanted && text(cluster, "status", "secret") == "":
		return k.updateStatus(ctx, map[string]any{"secret": clusterName})
	case !isWanted && cluster != nil && text(cluster, "status", "secret") != "":
		return k.updateStatus(ctx, map[string]any{"secret": nil})
	}
	return nil
}

// deleteUnwanted deletes the Secret that the cache has, unless the stored Cluster wants one.
func (k secretKeeper) deleteUnwanted(ctx context.Context, secret *corev1.Secret) error {
	cluster, err := k.stored(ctx)
	if err != nil || wantsSecret(cluster) {
		return err
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID}}
	return ignoring(isReplaced, k.CoreV1().Secrets(namespace).Delete(ctx, secret.Name, options))
}
