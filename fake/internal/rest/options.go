// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/registry"
)

// fromQuery returns the options in a request's query, decoded with apimachinery's conversion.
func fromQuery[T any](c *call, convert func(*url.Values, *T, conversion.Scope) error) (T, error) {
	var opts T
	query := c.r.URL.Query()
	if err := convert(&query, &opts, nil); err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	return opts, nil
}

func (c *call) listOptions() (metav1.ListOptions, error) {
	return fromQuery(c, metav1.Convert_url_Values_To_v1_ListOptions)
}

// writeOptions are the common options of create, update and patch requests.
type writeOptions struct {
	mode       registry.Mode
	validation string // fieldValidation: Ignore, Warn or Strict
	manager    string // the name in managedFields
	force      bool   // an apply takes fields over from other managers
}

func (c *call) writeOptions() (writeOptions, error) {
	opts, err := fromQuery(c, metav1.Convert_url_Values_To_v1_CreateOptions)
	if err != nil {
		return writeOptions{}, err
	}
	if err := invalidOptions("CreateOptions", validation.ValidateCreateOptions(&opts)); err != nil {
		return writeOptions{}, err
	}
	return c.newWriteOptions(opts.DryRun, opts.FieldValidation, opts.FieldManager), nil
}

func (c *call) patchOptions(patchType types.PatchType) (writeOptions, error) {
	opts, err := fromQuery(c, metav1.Convert_url_Values_To_v1_PatchOptions)
	if err != nil {
		return writeOptions{}, err
	}
	if err := invalidOptions("PatchOptions", validation.ValidatePatchOptions(&opts, patchType)); err != nil {
		return writeOptions{}, err
	}
	write := c.newWriteOptions(opts.DryRun, opts.FieldValidation, opts.FieldManager)
	write.force = opts.Force != nil && *opts.Force
	return write, nil
}

func (c *call) newWriteOptions(dryRun []string, fieldValidation, fieldManager string) writeOptions {
	mode := registry.Checked
	if len(dryRun) > 0 {
		mode = registry.DryRun
	}
	return writeOptions{mode: mode, validation: fieldValidation, manager: c.manager(fieldManager)}
}

// manager returns the name of the client in managedFields: that of the request's options, or else
// the beginning of its User-Agent.
func (c *call) manager(name string) string {
	agent, _, _ := strings.Cut(c.r.UserAgent(), "/")
	agent = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, agent)
	agent = strings.ToValidUTF8(agent[:min(len(agent), validation.FieldManagerMaxLength)], "")
	return cmp.Or(name, agent, "unknown")
}

// storeFor returns the store for a write request with the options.
func (c *call) storeFor(opts writeOptions) *registry.Store {
	return c.store.For(registry.Caller{
		Manager:     opts.manager,
		Subresource: c.target.subresource,
		Unknown:     func(fields []string) error { return c.unknownFields(fields, opts.validation) },
		Edit:        c.fault.EditWrite,
	})
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

// deleteOptions returns the options of a delete request, from the body or, if it is empty, the
// query.
func (c *call) deleteOptions() (*metav1.DeleteOptions, error) {
	data, format, err := c.body()
	if err != nil {
		return nil, err
	}
	opts := &metav1.DeleteOptions{}
	switch {
	case len(data) == 0:
		var fromURL metav1.DeleteOptions
		fromURL, err = fromQuery(c, metav1.Convert_url_Values_To_v1_DeleteOptions)
		opts = &fromURL
	case format.IsJSON():
		err = utiljson.Unmarshal(data, opts) // DeleteOptions of any API group are the same type
	default:
		_, _, err = format.Decode(data, metav1.SchemeGroupVersion.WithKind("DeleteOptions"), opts, false)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("decode DeleteOptions: " + err.Error())
	}
	return opts, invalidOptions("DeleteOptions", validation.ValidateDeleteOptions(opts))
}
