// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package mutation detects writes into cached objects, for tests and debugging.
//
// All readers of a cache share its objects: a caller that writes into one changes it for all
// others, and races with them. A [Detector] keeps a copy of each object as it was stored and
// compares the two periodically:
//
//	d := mutation.New()
//	d.Add(key, object) // for every object the store receives
//	d.Run(ctx, clock, time.Second, stored, report) // spec.replicas was 3, is 5
//
// It doubles the memory of the cache, and each check visits every object, like client-go's
// KUBE_CACHE_MUTATION_DETECTOR.
package mutation
