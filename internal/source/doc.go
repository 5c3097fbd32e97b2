// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package source makes list and watch requests and passes their objects on item by item.
//
// A [Source] makes a request by the functions of a [ListerWatcher]. Where the client's transport
// has the tap (internal/tap), it splits the response's body into items as it arrives and the
// client decodes an empty placeholder instead; this is called streaming. In all other cases it
// walks the object that the client decoded. A Source takes no decisions: when to list, what to
// watch and what an error means is the reflector's part.
//
// Where streaming is the default, and not what the program has asked for, a list that cannot be
// split is a [feed.ErrNotSplit], for which the reflector lists again at once. The client decodes
// that list and, if it can, all later ones. A slow sink delays the reading of a list; after
// Config.ReadTime, the rest of the list is read into memory.
package source
