package main

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

// loadKubeconfig finds a cluster as kubectl does. Both arguments may be empty.
func loadKubeconfig(file, contextName string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	rules.WarnIfAllMissing = false // no kubeconfig is no fault inside a Pod; elsewhere it is told below
	files := file
	if file == "" {
		files = strings.Join(rules.GetLoadingPrecedence(), ", ")
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, unreadable(err)
	}
	if err := checkContext(raw, contextName); err != nil {
		return nil, fmt.Errorf("the kubeconfig (%s) cannot be used: %w", files, err)
	}
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("no cluster is configured: the kubeconfig (%s) is missing, empty or names no current context, and this is not a Pod", files)
	case err != nil:
		return nil, fmt.Errorf("the kubeconfig (%s) cannot be used: %w", files, err)
	}
	return config, nil
}

// unreadable words the errors of reading a kubeconfig; all of them name the file.
func unreadable(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("the kubeconfig %s cannot be read: %w", path.Path, path.Err)
	}
	return fmt.Errorf("the kubeconfig cannot be read: %w", err)
}

// checkContext tells of a context or a cluster that is named and not there.
// client-go would take either for a kubeconfig that says nothing. The name is empty
// for the current context.
func checkContext(config clientcmdapi.Config, name string) error {
	if name == "" {
		name = config.CurrentContext
	}
	if name == "" {
		return nil
	}
	chosen := config.Contexts[name]
	if chosen == nil {
		return fmt.Errorf("there is no context %q, %s", name, contextsOf(config))
	}
	if config.Clusters[chosen.Cluster] == nil {
		return fmt.Errorf("the context %q is for the cluster %q, which is not there", name, chosen.Cluster)
	}
	return nil
}

// contextsOf says which contexts there are to choose from.
func contextsOf(config clientcmdapi.Config) string {
	if len(config.Contexts) == 0 {
		return "nor any other"
	}
	return "only " + strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", ")
}
