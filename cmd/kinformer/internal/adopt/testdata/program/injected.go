// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "knative.dev/pkg/client/injection/kube/informers/core/v1/pod"
)
