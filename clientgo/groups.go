// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
)

// The methods below replace those of the embedded factory of client-go, so that the accessors call
// InformerFor of the factory that Generated returns.

// Admissionregistration returns the accessors of API group admissionregistration.k8s.io.
func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f.generated, f.namespace, f.tweakListOptions)
}

// Internal returns the accessors of API group internal.apiserver.k8s.io.
func (f *factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f.generated, f.namespace, f.tweakListOptions)
}

// Apps returns the accessors of API group apps.
func (f *factory) Apps() apps.Interface {
	return apps.New(f.generated, f.namespace, f.tweakListOptions)
}

// Autoscaling returns the accessors of API group autoscaling.
func (f *factory) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f.generated, f.namespace, f.tweakListOptions)
}

// Batch returns the accessors of API group batch.
func (f *factory) Batch() batch.Interface {
	return batch.New(f.generated, f.namespace, f.tweakListOptions)
}

// Certificates returns the accessors of API group certificates.k8s.io.
func (f *factory) Certificates() certificates.Interface {
	return certificates.New(f.generated, f.namespace, f.tweakListOptions)
}

// Coordination returns the accessors of API group coordination.k8s.io.
func (f *factory) Coordination() coordination.Interface {
	return coordination.New(f.generated, f.namespace, f.tweakListOptions)
}

// Core returns the accessors of the core API group.
func (f *factory) Core() core.Interface {
	return core.New(f.generated, f.namespace, f.tweakListOptions)
}

// Discovery returns the accessors of API group discovery.k8s.io.
func (f *factory) Discovery() discovery.Interface {
	return discovery.New(f.generated, f.namespace, f.tweakListOptions)
}

// Events returns the accessors of API group events.k8s.io.
func (f *factory) Events() events.Interface {
	return events.New(f.generated, f.namespace, f.tweakListOptions)
}

// Extensions returns the accessors of API group extensions.
func (f *factory) Extensions() extensions.Interface {
	return extensions.New(f.generated, f.namespace, f.tweakListOptions)
}

// Flowcontrol returns the accessors of API group flowcontrol.apiserver.k8s.io.
func (f *factory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f.generated, f.namespace, f.tweakListOptions)
}

// Networking returns the accessors of API group networking.k8s.io.
func (f *factory) Networking() networking.Interface {
	return networking.New(f.generated, f.namespace, f.tweakListOptions)
}

// Node returns the accessors of API group node.k8s.io.
func (f *factory) Node() node.Interface {
	return node.New(f.generated, f.namespace, f.tweakListOptions)
}

// Policy returns the accessors of API group policy.
func (f *factory) Policy() policy.Interface {
	return policy.New(f.generated, f.namespace, f.tweakListOptions)
}

// Rbac returns the accessors of API group rbac.authorization.k8s.io.
func (f *factory) Rbac() rbac.Interface {
	return rbac.New(f.generated, f.namespace, f.tweakListOptions)
}

// Resource returns the accessors of API group resource.k8s.io.
func (f *factory) Resource() resource.Interface {
	return resource.New(f.generated, f.namespace, f.tweakListOptions)
}

// Scheduling returns the accessors of API group scheduling.k8s.io.
func (f *factory) Scheduling() scheduling.Interface {
	return scheduling.New(f.generated, f.namespace, f.tweakListOptions)
}

// Storage returns the accessors of API group storage.k8s.io.
func (f *factory) Storage() storage.Interface {
	return storage.New(f.generated, f.namespace, f.tweakListOptions)
}

// Storagemigration returns the accessors of API group storagemigration.k8s.io.
func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f.generated, f.namespace, f.tweakListOptions)
}
