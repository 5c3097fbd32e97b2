// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// keeper keeps a Secret with the size of the Cluster, and notes the size in the status.
//
// The bug is its role. That of withoutStatus lacks the subresource, so that each run has a write
// that is refused, of which the keeper says nothing. That of withoutGet lacks a verb for the case
// that the Secret is there and not in the cache, which happens if a response is lost or an event is
// late. The end state is the right one in both.
type keeper struct {
	*operator
	secrets corelisters.SecretNamespaceLister
}

func withoutStatus(mended bool) simulate.Test { return keeping("without_status", mended) }

func withoutGet(mended bool) simulate.Test { return keeping("without_get", mended) }

func keeping(role string, mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		k := keeper{operator: o, secrets: watch(o, o.informers.Core().V1().Secrets()).Lister().Secrets(namespace)}
		return ifPresent(k.sync)
	})
	if mended {
		role = "keeper"
	}
	test.Roles = []simulate.Roles{{Files: []string{"testdata/roles/" + role + ".yaml"}}}
	test.Objects = []fake.Object{sized(1)}
	test.Steps = func(w *simulate.World) { w.Update(sized(2)) }
	return test
}

func (k keeper) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	size := number(cluster, "spec", "replicas")
	secret, err := k.secrets.Get(clusterName)
	if apierrors.IsNotFound(err) {
		secret, err = k.create(ctx)
	}
	if err != nil {
		return err
	}
	if content := ordinal("size", size); string(secret.Data["size"]) != content {
		changed := secret.DeepCopy()
		changed.Data = map[string][]byte{"size": []byte(content)}
		if _, err := k.CoreV1().Secrets(namespace).Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if number(cluster, "status", "replicas") != size {
		return ignoring(apierrors.IsForbidden, k.noteSize(ctx, cluster, size)) // the Secret is what counts
	}
	return nil
}

// create creates the Secret, or returns the one that is there.
func (k keeper) create(ctx context.Context) (*corev1.Secret, error) {
	secret, err := k.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: named(clusterName)}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return k.CoreV1().Secrets(namespace).Get(ctx, clusterName, metav1.GetOptions{})
	}
	return secret, err
}

func (k keeper) noteSize(ctx context.Context, cluster *unstructured.Unstructured, size int64) error {
	changed := cluster.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, size, "status", "replicas"); err != nil {
		return err
	}
	_, err := k.dynamic.Resource(clusterResource).Namespace(namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
