// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"mime"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/registry"
)

func (c *call) get() error {
	opts, err := fromQuery(c, metav1.Convert_url_Values_To_v1_GetOptions)
	if err != nil {
		return err
	}
	obj, err := c.store.Get(c.target.namespace, c.target.name, opts.ResourceVersion, c.fault.Replica())
	if err != nil {
		return err
	}
	return c.writeObject(http.StatusOK, obj)
}

func (c *call) list() error {
	opts, err := c.listOptions()
	if err != nil {
		return err
	}
	page, err := c.store.Page(c.target.namespace, opts, c.fault.Replica())
	if err != nil {
		return err
	}
	return c.writePage(page)
}

func (c *call) create() error {
	opts, err := c.writeOptions()
	if err != nil {
		return err
	}
	obj, err := c.object(opts.validation)
	if err != nil {
		return err
	}
	stored, err := c.storeFor(opts).Create(c.target.namespace, obj, opts.mode)
	return c.writeStored(stored, true, err)
}

// update writes the object in the body with a method of the store.
func (c *call) update(write registry.Writer) error {
	opts, err := c.writeOptions()
	if err != nil {
		return err
	}
	obj, err := c.object(opts.validation)
	if err != nil {
		return err
	}
	return c.writeStored(write(c.storeFor(opts), c.target.namespace, c.target.name, obj, opts.mode))
}

// patch applies the patch in the body.
func (c *call) patch(write registry.Writer) error {
	patchType, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if supported := c.store.PatchTypes(); err != nil || !slices.Contains(supported, patchType) {
		return unsupportedMediaType(c.r.Header.Get("Content-Type"), supported)
	}
	opts, err := c.patchOptions(types.PatchType(patchType))
	if err != nil {
		return err
	}
	data, err := c.read()
	if err != nil {
		return err
	}
	store := c.storeFor(opts)
	if patchType == string(types.ApplyYAMLPatchType) {
		stored, created, err := store.Apply(c.target.namespace, c.target.name, data, opts.force, write, opts.mode)
		return c.writeStored(stored, created, err)
	}
	stored, err := store.Patch(c.target.namespace, c.target.name, types.PatchType(patchType), data, write, opts.mode)
	return c.writeStored(stored, false, err)
}

// writeStored answers with the result of a write.
func (c *call) writeStored(stored history.Object, created bool, err error) error {
	switch {
	case err != nil:
		return err
	case created:
		return c.writeObject(http.StatusCreated, stored)
	}
	return c.writeObject(http.StatusOK, stored)
}

// delete answers with the object if its deletion is pending or the kind's rules require it, and
// otherwise with a Status.
func (c *call) delete() error {
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	obj, gone, err := c.store.Delete(c.target.namespace, c.target.name, opts)
	if err != nil {
		return err
	}
	if !gone || c.store.Rules.ReturnsDeleted {
		return c.writeObject(http.StatusOK, obj)
	}
	return c.write(http.StatusOK, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: obj.GetName(), Group: c.target.Group, Kind: c.target.Resource, UID: obj.GetUID()},
	})
}

func (c *call) deleteCollection() error {
	list, err := c.listOptions()
	if err != nil {
		return err
	}
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	page, err := c.store.DeleteCollection(c.target.namespace, list, opts)
	if err != nil {
		return err
	}
	return c.writePage(page)
}
