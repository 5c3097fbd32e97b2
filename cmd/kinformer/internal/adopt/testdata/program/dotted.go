// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import . "k8s.io/client-go/tools/cache"

func dotted(lw ListerWatcher) SharedInformer { return NewSharedInformer(lw, nil, 0) }
