// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/kubeconfig"
)

// Flags are the flags that select a cluster, its credentials and a namespace. They have kubectl's
// names.
type Flags struct {
	file      string
	overrides clientcmd.ConfigOverrides
}

// Bind adds the flags to a set.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "kubeconfig", "", "")
	clientcmd.BindOverrideFlags(&f.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

// Namespace returns the namespace of the flag, or "" if it was not given.
func (f *Flags) Namespace() string { return f.overrides.Context.Namespace }

// Load returns the configuration that the flags select.
func (f *Flags) Load() (*rest.Config, error) {
	return kubeconfig.Load(f.file, f.overrides)
}
