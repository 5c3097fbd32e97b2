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

// certifier creates two Secrets with certificates.
//
// The bug: it creates both if the first one is missing, so that the second one stays missing after
// a crash between the writes. The mended one looks for both.
type certifier struct {
	*operator
	secrets corelisters.SecretNamespaceLister
	mended  bool
}

func secretPair(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		c := certifier{operator: o, mended: mended, secrets: watch(o, o.informers.Core().V1().Secrets()).Lister().Secrets(namespace)}
		return ifPresent(c.sync)
	})
	test.Objects = []fake.Object{sized(1)}
	return test
}

func (c certifier) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	missing, err := c.isMissing(clusterName + "-ssl")
	if err == nil && !missing && c.mended {
		missing, err = c.isMissing(clusterName + "-ssl-internal")
	}
	if err != nil || !missing {
		return err
	}
	for _, name := range []string{clusterName + "-ssl", clusterName + "-ssl-internal"} {
		secret := &corev1.Secret{ObjectMeta: named(name), Data: map[string][]byte{"tls.crt": []byte(name)}}
		if _, err := c.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); ignoring(apierrors.IsAlreadyExists, err) != nil {
			return err
		}
	}
	return nil
}

func (c certifier) isMissing(name string) (bool, error) {
	_, err := c.secrets.Get(name)
	return apierrors.IsNotFound(err), ignoring(apierrors.IsNotFound, err)
}
