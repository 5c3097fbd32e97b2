// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are chosen below the range of ephemeral ports (from 32768 on Linux, 49152 elsewhere). In
// that range, a client that connects to a stopped server may be assigned the server's port, is then
// connected to itself, and the server cannot start again.
const (
	firstPort = 20000
	endPort   = 32000
)

// freePorts returns n different loopback addresses whose ports are currently free.
func freePorts(n int) ([]string, error) {
	addrs := make([]string, 0, n)
	for tries := 0; len(addrs) < n; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("no free port on 127.0.0.1 between %d and %d after %d tries", firstPort, endPort, tries)
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(endPort-firstPort)))
		listener, err := net.Listen("tcp", addr) //nolint:noctx // it does not block
		if err != nil {
			continue
		}
		// Closed when all are found, so that none is found twice.
		defer listener.Close()
		addrs = append(addrs, addr)
	}
	return addrs, nil
}
