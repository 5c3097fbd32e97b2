// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

// Help describes the command.
const Help = `kinformer cost measures what a cache of each resource of a cluster costs, in
objects, bytes on the wire, heap, peak RSS and CPU time to sync, with
client-go's informers and with kinformer's, and says what to choose.

Usage: kinformer cost RESOURCE... [flags]
       kinformer cost --all [flags]

Such as: kinformer cost pods deploy widgets.example.com

A plan is shown first, made with one request of one object per resource, and
nothing else is read before a yes. Each resource is then read once, one after
the other, in pages of 500 objects, into memory, and never written to disk. All
measurements use that copy: processes without credentials read it from a server
on the loopback interface.

  --all               all resources of the cluster, each in its preferred
                      version, without those that are named as skipped: Secrets
                      (unless --secrets), Events, resources without watch,
                      aggregated APIs, and what may not be listed
  --secrets           Secrets too. The values in data, stringData and
                      annotations of each Secret are replaced by random bytes of
                      the same length before the Secret is kept; keys and other
                      metadata stay. Copies of the values may stay in buffers of
                      this process until it ends
  -n, --namespace NS  only the objects of a namespace
  --qps N             the maximum number of requests per second (default 5); the
                      server's Retry-After is obeyed besides
  -y, --yes           do not ask
  --large             read more than 50,000 objects or 1 GB
  -o, --output FORMAT table (default) or json

No resource is read that would take more than half of the memory of this
machine, or of its cgroup. A request may take --request-timeout, two minutes by
default. docs/command.md of the repository says more.

The cluster is chosen by kubectl's flags: --kubeconfig, --context, --cluster,
--user, --server, --token, --as, --as-group, --as-uid, --certificate-authority,
--client-certificate, --client-key, --username, --password,
--insecure-skip-tls-verify, --tls-server-name, --proxy-url,
--disable-compression, --request-timeout.
`
