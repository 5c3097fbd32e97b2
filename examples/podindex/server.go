// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

// startServer starts an API server with nine running Pods of two applications on three nodes. It
// returns the configuration of its clients and a function that stops it.
func startServer() (*rest.Config, func(), error) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, nil, err
	}
	for n := range 9 {
		app := []string{"web", "db"}[n%2]
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", app, n), Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", n%3+1), Containers: []corev1.Container{{Name: app, Image: app + ":1"}}},
		}
		err = errors.Join(err, server.Create(pod))
		pod.Status.Phase = corev1.PodRunning
		err = errors.Join(err, server.UpdateStatus(pod))
	}
	return server.Config(), func() { _ = server.Close(context.Background()) }, err
}
