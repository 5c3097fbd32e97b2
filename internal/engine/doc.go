// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine assembles the stages from the request to the handler. It is the only place that
// does: packages cache and clientgo fill in a [Spec] or, for a reflector that writes to a store of
// the program's, a [Loop].
//
//	cache.InformerOptions ─┐                ┌▶ source.New ── Items ─▶ reflector ─▶ store ─▶ handlers
//	clientgo.Options ──────┴▶ Spec ─▶ New ──┤                         └──── informer.New ────────┘
//	                                        └▶ omit.New, codec.Timing: of the source and the store
//
//	cache.ReflectorOptions ─┐
//	clientgo.Options ───────┴▶ Loop ─▶ NewReflector: source.New ── Items ─▶ reflector ─▶ storewriter
//
// A Spec holds the configurations of the stages (source.Config, reflector.Config, store.Config,
// informer.Config) as far as one option decides one of their fields. The fields of the Spec itself
// concern several stages: Packed, for example, selects how the source decodes, what the store
// keeps, and who computes index values. New derives the rest.
//
// A new option is a field in the options of cache or clientgo, which pass it on beside its
// declaration, a field of the Spec or of one of the configurations, and the code of the stage.
package engine
