// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// apiServer is the configuration of kube-apiserver. Its files do not change at restarts, so that a
// client's configuration stays valid.
type apiServer struct {
	dir  string
	addr string
}

// The token is not secret: the server listens on loopback only, for the duration of a test.
const (
	token     = "kinformer-e2e"
	tokenFile = token + `,e2e,e2e,"system:masters"` + "\n"
)

// newAPIServer writes the files into dir.
func newAPIServer(dir, addr string) (*apiServer, error) {
	a := &apiServer{dir: dir, addr: addr}
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a certificate for kube-apiserver: %w", err)
	}
	accounts, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, fmt.Errorf("create a key for service accounts: %w", err)
	}
	return a, errors.Join(
		os.WriteFile(a.file("tls.crt"), cert, 0o600),
		os.WriteFile(a.file("tls.key"), key, 0o600),
		os.WriteFile(a.file("accounts.key"), accounts, 0o600),
		os.WriteFile(a.file("tokens.csv"), []byte(tokenFile), 0o600),
	)
}

func (a *apiServer) file(name string) string { return filepath.Join(a.dir, name) }

func (a *apiServer) args(etcdURL, authorizationMode string) []string {
	return []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1",
		"--secure-port=" + port(a.addr),
		"--cert-dir=" + a.dir,
		"--tls-cert-file=" + a.file("tls.crt"),
		"--tls-private-key-file=" + a.file("tls.key"),
		"--token-auth-file=" + a.file("tokens.csv"),
		"--authorization-mode=" + authorizationMode,
		"--service-account-issuer=https://127.0.0.1",
		"--service-account-key-file=" + a.file("accounts.key"),
		"--service-account-signing-key-file=" + a.file("accounts.key"),
		"--disable-admission-plugins=ServiceAccount", // no controller creates the service accounts that it requires
		"--service-cluster-ip-range=10.0.0.0/24",
		"--shutdown-watch-termination-grace-period=1s", // otherwise open watches delay the end by a minute
		"--endpoint-reconciler-type=none",              // it does not accept a loopback address
	}
}

// config returns a client configuration without client-go's limit of 5 requests per second.
func (a *apiServer) config() *rest.Config {
	return &rest.Config{
		Host:            "https://" + a.addr,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: a.file("tls.crt")},
		QPS:             -1,
	}
}

// readiness returns a function that returns an error until kube-apiserver is ready: /readyz
// succeeds, and the namespace "default" exists, which it creates a moment later.
func (a *apiServer) readiness() (func(context.Context) error, error) {
	client, err := rest.HTTPClientFor(a.config())
	if err != nil {
		return nil, fmt.Errorf("create a client of kube-apiserver: %w", err)
	}
	return func(ctx context.Context) error {
		for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
			if err := get(ctx, client, a.config().Host+path); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("GET %s: %s: %s", url, resp.Status, text)
	}
	return nil
}
