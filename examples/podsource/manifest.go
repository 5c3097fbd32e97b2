// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// configSource is the annotation that says where a Pod comes from, as in the kubelet.
const configSource = "kubernetes.io/config.source"

var errNoName = errors.New("metadata.name is empty")

// readManifest returns the Pods of a manifest, which is a Pod or a PodList in YAML or JSON. It
// names them as the kubelet names static Pods: after the node, with a UID that depends on their
// origin and content. A manifest that changes is thus another Pod.
func readManifest(data []byte, source, origin, node string) ([]*corev1.Pod, error) {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	switch o := obj.(type) {
	case *corev1.Pod:
		pods = append(pods, o)
	case *corev1.PodList:
		for i := range o.Items {
			pods = append(pods, &o.Items[i])
		}
	default:
		return nil, fmt.Errorf("expected a Pod or a PodList, got %T", obj)
	}
	for i, pod := range pods {
		if pod.Name == "" {
			return nil, fmt.Errorf("item %d: %w", i, errNoName)
		}
		if pod.Namespace == "" {
			pod.Namespace = corev1.NamespaceDefault
		}
		if pod.UID, err = uidOf(pod, node, origin); err != nil {
			return nil, err
		}
		pod.Name += "-" + node
		pod.Spec.NodeName = node
		if pod.Annotations == nil {
			pod.Annotations = make(map[string]string)
		}
		pod.Annotations[configSource] = source
	}
	return pods, nil
}

// uidOf returns a UID that no Pod of other content, origin or node has.
func uidOf(pod *corev1.Pod, node, origin string) (types.UID, error) {
	content, err := json.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("encode Pod %q: %w", pod.Name, err)
	}
	hash := sha256.Sum256(slices.Concat([]byte(node), []byte{0}, []byte(origin), []byte{0}, content))
	return types.UID(hex.EncodeToString(hash[:16])), nil
}
