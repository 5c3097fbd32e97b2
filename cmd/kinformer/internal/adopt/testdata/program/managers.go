// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

func options() ctrl.Options { return ctrl.Options{} }

func managers(config any, cacheOptions cache.Options, clusterOptions []cluster.Option) {
	ctrl.NewManager(config, ctrl.Options{})
	ctrl.NewManager(config, ctrl.Options{LeaderElection: true, Cache: cache.Options{Namespaces: []string{"a"}}})
	manager.New(config, manager.Options{
		LeaderElection: true,
		Cache:          cacheOptions,
	})
	managerOptions := options()
	if managed := ctrl.NewManager(config, managerOptions); managed != nil {
		switch {
		case managerOptions.LeaderElection:
			cache.New(config, cacheOptions)
		}
	}
	ctrl.NewManager(config, options())
	cluster.New(config)
	cluster.New(config, clusterOptions...)
}
