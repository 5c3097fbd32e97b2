// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

const (
	objects = 2000 // names of Pods, most of which exist at any time
	changes = 5    // per 10 milliseconds
	flood   = 12_000
)

// truth changes the server's objects and knows them. It is not safe for concurrent use.
type truth struct {
	*rand.Rand
	server   *fake.APIServer
	versions map[string]string // the resourceVersions of the objects, by key
	writes   int
}

func newTruth(server *fake.APIServer, random *rand.Rand) *truth {
	return &truth{Rand: random, server: server, versions: make(map[string]string)}
}

// change makes n changes. Nine of ten Pods exist in the long run.
func (w *truth) change(n int) {
	for range n {
		name := "pod-" + strconv.Itoa(w.IntN(objects))
		_, exists := w.versions["soak/"+name]
		switch {
		case !exists:
			w.write(w.server.Create, w.pod(name))
		case w.IntN(10) == 0:
			w.write(w.server.Delete, w.pod(name))
			delete(w.versions, "soak/"+name)
		default:
			w.write(w.server.Update, w.pod(name))
		}
	}
}

func (w *truth) write(write func(fake.Object) error, pod *corev1.Pod) {
	if err := write(pod); err != nil {
		panic(err) // the objects have no other writer
	}
	w.writes++
	w.versions[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
}

// pod returns a Pod of about a kilobyte.
func (w *truth) pod(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "soak", Name: name, Labels: map[string]string{"app": "app-" + strconv.Itoa(w.IntN(20))},
		Annotations: map[string]string{"example.com/checksum": strings.Repeat(fmt.Sprintf("%016x", w.Uint64()), 4)},
	}}
	pod.Spec.NodeName = "node-" + strconv.Itoa(w.IntN(nodes))
	for _, container := range []string{"app", "proxy", "log"} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: container, Image: "registry.example.com/" + container + ":v1.2." + strconv.Itoa(w.IntN(3)),
			Env: []corev1.EnvVar{{Name: "POD_NAME", Value: name}, {Name: "LOG_LEVEL", Value: "info"}},
		})
	}
	return pod
}
