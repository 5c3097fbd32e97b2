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
	"k8s.io/client-go/informers/internalinterfaces"
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

func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f.arguments())
}

func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f.arguments())
}

func (f *factory) Internal() apiserverinternal.Interface { return apiserverinternal.New(f.arguments()) }
func (f *factory) Apps() apps.Interface                  { return apps.New(f.arguments()) }
func (f *factory) Autoscaling() autoscaling.Interface    { return autoscaling.New(f.arguments()) }
func (f *factory) Batch() batch.Interface                { return batch.New(f.arguments()) }
func (f *factory) Certificates() certificates.Interface  { return certificates.New(f.arguments()) }
func (f *factory) Coordination() coordination.Interface  { return coordination.New(f.arguments()) }
func (f *factory) Core() core.Interface                  { return core.New(f.arguments()) }
func (f *factory) Discovery() discovery.Interface        { return discovery.New(f.arguments()) }
func (f *factory) Events() events.Interface              { return events.New(f.arguments()) }
func (f *factory) Extensions() extensions.Interface      { return extensions.New(f.arguments()) }
func (f *factory) Flowcontrol() flowcontrol.Interface    { return flowcontrol.New(f.arguments()) }
func (f *factory) Networking() networking.Interface      { return networking.New(f.arguments()) }
func (f *factory) Node() node.Interface                  { return node.New(f.arguments()) }
func (f *factory) Policy() policy.Interface              { return policy.New(f.arguments()) }
func (f *factory) Rbac() rbac.Interface                  { return rbac.New(f.arguments()) }
func (f *factory) Resource() resource.Interface          { return resource.New(f.arguments()) }
func (f *factory) Scheduling() scheduling.Interface      { return scheduling.New(f.arguments()) }
func (f *factory) Storage() storage.Interface            { return storage.New(f.arguments()) }

// arguments returns the arguments of the New functions of client-go's API groups.
func (f *factory) arguments() (internalinterfaces.SharedInformerFactory, string, internalinterfaces.TweakListOptionsFunc) {
	return f.generated, f.namespace, f.tweakListOptions
}
