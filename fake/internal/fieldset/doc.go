// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package fieldset reads the fields of an object that field selectors can select by. Each type has
// the fields that the real API server supports for it. An unstructured object can be selected by
// any field.
package fieldset
