// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"example.com/clientset/externalversions"
)

type holder struct {
	factory externalversions.SharedInformerFactory
}

func simple(client any, stop chan struct{}) any {
	factory := externalversions.NewSharedInformerFactory(client, 0)
	other := externalversions.NewSharedInformerFactory(client, 0)
	lister := factory.Widgets().V1().Widgets().Lister()
	factory.Widgets().V1().Widgets().Informer()
	other.Widgets().V1().Gadgets().Lister()
	factory.Start(stop)
	return lister
}

func conditional(client any, gadgets bool) {
	factory := externalversions.NewSharedInformerFactory(client, 0)
	factory.Widgets().V1().Widgets().Informer()
	if gadgets {
		factory.Widgets().V1().Gadgets().Informer()
	}
}

func (h *holder) hold(client any) {
	h.factory = externalversions.NewSharedInformerFactory(client, 0)
}
