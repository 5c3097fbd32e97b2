// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig file for a server into a folder and returns its path.
func WriteKubeconfig(config *rest.Config, folder string) (string, error) {
	const name = "cluster"
	content := api.NewConfig()
	content.Clusters[name] = &api.Cluster{
		Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData,
	}
	content.AuthInfos[name] = &api.AuthInfo{Token: config.BearerToken}
	content.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	content.CurrentContext = name
	path := filepath.Join(folder, "kubeconfig")
	return path, clientcmd.WriteToFile(*content, path)
}
