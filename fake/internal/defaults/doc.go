// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package defaults sets the fields of built-in objects that kube-apiserver sets itself, so that
// controllers which rely on them find them.
//
// [Set] sets what kube-apiserver sets whenever it decodes an object: the defaults that the API
// reference documents, and fields that follow from others, such as status.podIPs from status.podIP.
// It is idempotent. [SetNew] also sets what the server sets when it creates an object: labels and
// selector of a Job, and the QoS class, tolerations and priority of a Pod. [Keep] keeps such fields
// in an update that lacks them.
//
// The values are those of kube-apiserver 1.36 with its default feature gates and admission plugins,
// without ServiceAccount and NodeRestriction. Only the versions that it serves by default have
// defaults. There are none for Pod-level resources, DRA, flow control and admission policies.
//
// The functions do not use anything but their arguments and are safe for concurrent use with
// different objects. There is a file for each API group, and one for Pods and Pod templates.
// Defaults of Pods share memory, which no caller may modify: the registry never modifies a stored
// object, and a server of many Pods does not take more memory.
package defaults
