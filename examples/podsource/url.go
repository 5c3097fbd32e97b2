// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// requestTimeout is how long a server may take to answer.
	requestTimeout = 10 * time.Second
	// maxManifest is the largest response that is read, in bytes.
	maxManifest = 10 << 20
)

// urlSource passes on the Pods of a manifest that a web server serves.
type urlSource struct {
	url, node string
	interval  time.Duration // between two requests
	config    *podConfig
	failures  failureLog
}

func newURLSource(url, node string, interval time.Duration, config *podConfig) *urlSource {
	return &urlSource{url: url, node: node, interval: interval, config: config, failures: failureLog{origin: url}}
}

// Run passes on the Pods after each request until ctx ends.
func (s *urlSource) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	for {
		s.pass(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// pass passes on the Pods at the URL, or logs why it keeps the last good set.
func (s *urlSource) pass(ctx context.Context) {
	pods, err := s.get(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.failures.failed(ctx, err)
	default:
		s.failures.succeeded()
		s.config.set(ctx, "http", pods)
	}
}

// get requests the manifest.
func (s *urlSource) get(ctx context.Context) ([]*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("manifest %s: %s", s.url, response.Status)
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxManifest))
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", s.url, err)
	}
	pods, err := readManifest(data, "http", s.url, s.node)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", s.url, err)
	}
	return pods, nil
}
