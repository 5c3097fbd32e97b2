// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package randomapi makes random objects of the API, structs with some of their fields, and
// encodings of the objects that are valid but that no API server writes.
package randomapi
