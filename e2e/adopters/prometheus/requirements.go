// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build never

package prometheus

// What the discovery's own tests import, for go.mod: the copies of these tests are not in this
// module's folder.
import (
	_ "github.com/prometheus/client_golang/prometheus/testutil"
	_ "github.com/prometheus/prometheus/util/testutil"
	_ "github.com/stretchr/testify/require"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/client-go/kubernetes/fake"
)
