// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bind binds a Pod to a node. If name is empty, as for the legacy path, the Binding names the Pod.
func (c *call) bind(name string) error {
	opts, err := c.writeOptions()
	if err != nil {
		return err
	}
	data, format, err := c.body()
	if err != nil {
		return err
	}
	binding := &corev1.Binding{}
	if err := c.decode(data, format, corev1.SchemeGroupVersion.WithKind("Binding"), binding, opts.validation); err != nil {
		return err
	}
	if name == "" {
		name = binding.Name
	}
	if err := c.store.Bind(c.target.namespace, name, binding, opts.mode); err != nil {
		return err
	}
	return c.write(http.StatusCreated, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Code:     http.StatusCreated,
	})
}

// legacyBinding serves POST .../namespaces/{namespace}/bindings. It reports whether the request was
// one.
func (c *call) legacyBinding() bool {
	if !c.isCore("bindings") || c.target.namespace == "" || c.verb() != "create" {
		return false
	}
	c.store = c.Registry.ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
	if err := c.bind(""); err != nil {
		c.fail(err)
	}
	return true
}
