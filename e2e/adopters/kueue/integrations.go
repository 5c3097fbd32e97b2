// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kueue

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/follow"
)

// Integration adds the controllers of a kind of jobs to a manager.
type Integration struct {
	Resource schema.GroupVersionResource
	Setup    func(ctrl.Manager) error
}

// Manager is a manager with integrations.
type Manager struct {
	ctrl.Manager

	follower     *follow.Follower
	integrations []Integration
}

// NewManager returns a manager whose informers follow what the server serves.
func NewManager(config *rest.Config, options ctrl.Options, integrations ...Integration) (*Manager, error) {
	config = rest.CopyConfig(config)
	cache.EnableStreaming(config)
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	m := &Manager{follower: follow.New(metadataClient, discoveryClient, follow.Options{}), integrations: integrations}
	options.Cache = ctrlcache.Options{NewInformer: clientgo.Options{Served: m.follower.Resource}.NewInformer}
	m.Manager, err = ctrl.NewManager(config, options)
	return m, err
}

// Start runs the manager until ctx ends. The follower runs beside it, not in it: a manager starts
// other runnables after its informers have synced, and these wait for the follower.
func (m *Manager) Start(ctx context.Context) error {
	run := []func(context.Context) error{m.follower.Run, m.Manager.Start}
	for _, integration := range m.integrations {
		run = append(run, func(ctx context.Context) error {
			if err := m.follower.WaitForServed(ctx, integration.Resource); err != nil {
				return nil //nolint:nilerr // ctx has ended
			}
			if err := integration.Setup(m.Manager); err != nil {
				return fmt.Errorf("set up the integration with %s: %w", integration.Resource.GroupResource(), err)
			}
			return nil
		})
	}
	return cache.RunAll(ctx, run...)
}
