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

// reloader keeps a Secret with the configuration, and a Pod that loads it when it starts. After a
// change it updates the Secret, then sets a field of the status, and then restarts the Pod, because
// of that field.
//
// The bug: after a crash between the first two writes, the Secret is as it should be, and nothing
// tells that the Pod has to be restarted. The mended one notes in the Pod which configuration it
// was created for.
type reloader struct {
	*operator
	secrets corelisters.SecretNamespaceLister
	pods    corelisters.PodNamespaceLister
	mended  bool
}

func configReload(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		r := reloader{
			operator: o, mended: mended,
			secrets: watch(o, o.informers.Core().V1().Secrets()).Lister().Secrets(namespace),
			pods:    watch(o, o.informers.Core().V1().Pods()).Lister().Pods(namespace),
		}
		return ifPresent(r.sync)
	})
	test.Cluster = []simulate.Actor{loadConfig}
	test.Objects = []fake.Object{newCluster(map[string]any{"config": "old"})}
	test.Steps = func(w *simulate.World) { w.Update(newCluster(map[string]any{"config": "new"})) }
	return test
}

// loadConfig runs Pods. The message in the status is the configuration that they have loaded.
func loadConfig(s simulate.State) []simulate.Action {
	actions := simulate.RunPods(s)
	for _, secret := range simulate.All[*corev1.Secret](s) {
		for _, action := range actions {
			if pod := action.Object.(*corev1.Pod); action.Verb == "update status" {
				pod.Status.Message = fmt.Sprintf("loaded %s", secret.Data["config"])
			}
		}
	}
	return actions
}

func (r reloader) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	config := text(cluster, "spec", "config")
	updated, err := r.updateSecret(ctx, config)
	if err != nil {
		return err
	}
	if updated && !r.mended {
		return r.updateStatus(ctx, map[string]any{"config": "OutOfSync"})
	}
	pod, err := r.pods.Get(clusterName)
	if apierrors.IsNotFound(err) {
		created := newPod(clusterName)
		created.Annotations = map[string]string{"config": config}
		_, err := r.CoreV1().Pods(namespace).Create(ctx, created, metav1.CreateOptions{})
		return ignoring(apierrors.IsAlreadyExists, err)
	}
	if err != nil {
		return err
	}
	outOfSync := text(cluster, "status", "config") == "OutOfSync"
	if r.mended {
		outOfSync = pod.Annotations["config"] != config
	}
	if outOfSync {
		return r.restart(ctx, pod)
	}
	return nil
}

// updateSecret creates or updates the Secret, and reports whether it has updated it.
func (r reloader) updateSecret(ctx context.Context, config string) (updated bool, err error) {
	secret, err := r.secrets.Get(clusterName)
	if apierrors.IsNotFound(err) {
		_, err = r.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: named(clusterName), Data: map[string][]byte{"config": []byte(config)}}, metav1.CreateOptions{})
		return false, ignoring(apierrors.IsAlreadyExists, err)
	}
	if err != nil || string(secret.Data["config"]) == config {
		return false, err
	}
	changed := secret.DeepCopy()
	changed.Data["config"] = []byte(config)
	_, err = r.CoreV1().Secrets(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return err == nil, err
}

// restart deletes the Pod, which is created again, and resets the status.
func (r reloader) restart(ctx context.Context, pod *corev1.Pod) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	if err := r.CoreV1().Pods(namespace).Delete(ctx, pod.Name, options); ignoring(isReplaced, err) != nil {
		return err
	}
	if r.mended {
		return nil
	}
	return r.updateStatus(ctx, map[string]any{"config": "InSync"})
}
