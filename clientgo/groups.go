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

// The accessors of API groups, whose informers ask the factory that they are given for more.

// Admissionregistration returns the informers of a group of the API.
func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Internal returns the informers of a group of the API.
func (f *factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Apps returns the informers of a group of the API.
func (f *factory) Apps() apps.Interface {
	return apps.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Autoscaling returns the informers of a group of the API.
func (f *factory) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Batch returns the informers of a group of the API.
func (f *factory) Batch() batch.Interface {
	return batch.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Certificates returns the informers of a group of the API.
func (f *factory) Certificates() certificates.Interface {
	return certificates.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Coordination returns the informers of a group of the API.
func (f *factory) Coordination() coordination.Interface {
	return coordination.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Core returns the informers of a group of the API.
func (f *factory) Core() core.Interface {
	return core.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Discovery returns the informers of a group of the API.
func (f *factory) Discovery() discovery.Interface {
	return discovery.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Events returns the informers of a group of the API.
func (f *factory) Events() events.Interface {
	return events.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Extensions returns the informers of a group of the API.
func (f *factory) Extensions() extensions.Interface {
	return extensions.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Flowcontrol returns the informers of a group of the API.
func (f *factory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Networking returns the informers of a group of the API.
func (f *factory) Networking() networking.Interface {
	return networking.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Node returns the informers of a group of the API.
func (f *factory) Node() node.Interface {
	return node.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Policy returns the informers of a group of the API.
func (f *factory) Policy() policy.Interface {
	return policy.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Rbac returns the informers of a group of the API.
func (f *factory) Rbac() rbac.Interface {
	return rbac.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Resource returns the informers of a group of the API.
func (f *factory) Resource() resource.Interface {
	return resource.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Scheduling returns the informers of a group of the API.
func (f *factory) Scheduling() scheduling.Interface {
	return scheduling.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Storage returns the informers of a group of the API.
func (f *factory) Storage() storage.Interface {
	return storage.New(f, f.options.Namespace, f.options.TweakListOptions)
}

// Storagemigration returns the informers of a group of the API.
func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, f.options.Namespace, f.options.TweakListOptions)
}
