// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "k8s.io/client-go/tools/cache"

type running struct{ reflectors []*cache.Reflector }

func (r *running) add(reflector *cache.Reflector) { r.reflectors = append(r.reflectors, reflector) }
