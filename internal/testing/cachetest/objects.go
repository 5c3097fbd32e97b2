// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Errors of a connection, as net/http returns them.
const (
	ErrConnectionRefused = syscall.ECONNREFUSED
	ErrConnectionReset   = syscall.ECONNRESET
)

// ErrNoSuchHost is the error of a request whose host has no address.
var ErrNoSuchHost = &url.Error{Op: "Get", URL: "https://server/api/v1/pods", Err: errors.New("dial tcp: lookup server: no such host")}

// PodResource is the resource of Pods.
var PodResource = schema.GroupResource{Resource: "pods"}

// Pod returns a Pod in namespace ns.
func Pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, e := range edit {
		e(p)
	}
	return p
}

// WithVersion sets a Pod's resourceVersion.
func WithVersion(rv string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ResourceVersion = rv }
}

// WithLabel sets a Pod's only label.
func WithLabel(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

// Node returns a Node at a resourceVersion.
func Node(name, resourceVersion string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion}}
}

// TypeMeta returns the type of a core/v1 object.
func TypeMeta(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: "v1"} }

// NameAtVersion returns "name@resourceVersion".
func NameAtVersion(obj metav1.Object) string { return obj.GetName() + "@" + obj.GetResourceVersion() }

// Describe lists Pods as name@resourceVersion, sorted.
func Describe(pods []*corev1.Pod) string {
	words := make([]string, 0, len(pods))
	for _, p := range pods {
		words = append(words, NameAtVersion(p))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// WithSelector returns a list or watch function that selects by label.
func WithSelector[R any](selector string, request func(context.Context, metav1.ListOptions) (R, error)) func(context.Context, metav1.ListOptions) (R, error) {
	return func(ctx context.Context, options metav1.ListOptions) (R, error) {
		options.LabelSelector = selector
		return request(ctx, options)
	}
}
