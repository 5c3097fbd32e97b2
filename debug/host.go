// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// refuseHost returns why a request must not be answered that arrived at a loopback address with
// another host's name. A web site has its visitors' browsers send such requests, and read the
// answers, by a name of its own that resolves to a loopback address.
func (h *handler) refuseHost(r *http.Request) *failure {
	host := (&url.URL{Host: r.Host}).Hostname()
	if !atLoopback(r) || isLocalName(host) || h.allowsHost(host) {
		return nil
	}
	return &failure{http.StatusMisdirectedRequest, "At a loopback address, this page answers only to the Host localhost or an IP address, " +
		"so that no web site can read it. The program can allow other hosts by debug.Options.Hosts."}
}

// atLoopback reports whether a request arrived at a loopback address.
func atLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.IP.IsLoopback()
}

// isLocalName reports whether a host is localhost or an IP address, which no web site can have
// resolved to another one.
func isLocalName(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

func (h *handler) allowsHost(host string) bool {
	return slices.ContainsFunc(h.options.Hosts, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}
