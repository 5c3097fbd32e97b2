// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// fakeTimeout is how long the next initial event of a client-go fake is waited for. Fakes answer
// from memory. A server may take longer: how long it is waited for is the reflector's part.
const fakeTimeout = 2 * time.Second

// fakeSilence returns a channel that receives a value after fakeTimeout, if the stream is that of a
// client-go fake and the request was for the initial events, which these fakes never send. It
// returns nil for all other streams.
func fakeSilence(stream watch.Interface, options metav1.ListOptions) <-chan time.Time {
	if _, fake := stream.(*watch.RaceFreeFakeWatcher); !fake || options.SendInitialEvents == nil {
		return nil
	}
	return clock.RealClock{}.After(fakeTimeout)
}
