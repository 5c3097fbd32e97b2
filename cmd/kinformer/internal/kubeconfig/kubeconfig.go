// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig loads the configuration that kubectl would use, with errors that name the
// file, the context or the cluster at fault.
package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Load returns the configuration of a cluster. If file is empty it uses KUBECONFIG, ~/.kube/config
// or the service account of the Pod. The overrides are those of kubectl's flags.
func Load(file string, overrides clientcmd.ConfigOverrides) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	rules.WarnIfAllMissing = false // a Pod needs no kubeconfig; see IsEmptyConfig below
	paths := rules.GetLoadingPrecedence()
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides)
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, explainLoadError(paths, err)
	}
	files := strings.Join(paths, ", ")
	if err := checkContext(raw, overrides.CurrentContext); err != nil {
		return nil, fmt.Errorf("invalid kubeconfig (%s): %w", files, err)
	}
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("no cluster configured: kubeconfig (%s) is missing, empty or has no current context, and this process is not in a Pod", files)
	case err != nil:
		return nil, fmt.Errorf("invalid kubeconfig (%s): %w", files, err)
	}
	return config, nil
}

// explainLoadError returns an error that names the unreadable or malformed kubeconfig file. The
// error of clientcmd does not distinguish the two, so the files are loaded again one by one.
func explainLoadError(paths []string, loadErr error) error {
	for _, path := range paths {
		_, err := clientcmd.LoadFromFile(path)
		switch pathErr, isPathErr := errors.AsType[*fs.PathError](err); {
		case err == nil:
		case !isPathErr:
			return fmt.Errorf("malformed kubeconfig: %s is not a valid kubeconfig: %w", path, err)
		case !errors.Is(err, fs.ErrNotExist) || len(paths) == 1:
			return fmt.Errorf("read kubeconfig %s: %w", path, pathErr.Err)
		}
	}
	return fmt.Errorf("read kubeconfig: %w", loadErr)
}

// checkContext returns an error if the named context, or the current context if name is empty, or
// its cluster does not exist. client-go would treat the kubeconfig as empty.
func checkContext(config clientcmdapi.Config, name string) error {
	if name == "" {
		name = config.CurrentContext
	}
	if name == "" {
		return nil
	}
	selected := config.Contexts[name]
	if selected == nil {
		return fmt.Errorf("context %q not found, available contexts: %s", name, contextNames(config))
	}
	if config.Clusters[selected.Cluster] == nil {
		return fmt.Errorf("cluster %q of context %q not found", selected.Cluster, name)
	}
	return nil
}

// contextNames returns the names of all contexts, for messages.
func contextNames(config clientcmdapi.Config) string {
	if len(config.Contexts) == 0 {
		return "<none>"
	}
	return strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", ")
}
