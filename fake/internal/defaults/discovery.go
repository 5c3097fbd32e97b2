// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func setEndpointSlice(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Ports {
		setNil(&slice.Ports[i].Name, "")
		setNil(&slice.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}
