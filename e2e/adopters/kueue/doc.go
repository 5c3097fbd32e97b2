// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kueue is kueue's case on package follow: a manager of controller-runtime has integrations
// with kinds of jobs whose CustomResourceDefinitions may be installed later. The controller of a
// kind is added once the server serves it. The informer of the kind then follows: it ends when the
// kind goes, and starts again when the kind returns. docs/follow.md has the lines beside kueue's.
package kueue
