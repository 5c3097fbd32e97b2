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

func managers(config any, clusterOptions []cluster.Option) {
	var cacheOptions cache.Options
	ctrl.NewManager(config, ctrl.Options{})
	ctrl.NewManager(config, ctrl.Options{LeaderElection: true, Cache: cache.Options{Namespaces: []string{"a"}}})
	manager.New(config, manager.Options{
		LeaderElection: true,
		Cache:          cacheOptions,
	})
	managerOptions := ctrl.Options{LeaderElection: true}
	if managed := ctrl.NewManager(config, managerOptions); managed != nil {
		switch {
		case managerOptions.LeaderElection:
			cache.New(config, cacheOptions)
		}
	}
	ctrl.NewManager(config, options())
	given := options()
	ctrl.NewManager(config, given)
	cluster.New(config)
	cluster.New(config, clusterOptions...)
}

var newManager = ctrl.NewManager
