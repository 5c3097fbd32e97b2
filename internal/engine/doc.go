// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine assembles the stages from the request to the handler. It is the only place that
// does: packages cache and clientgo fill in a [Spec] or, for a reflector that writes to a store of
// the program's, a [Collection].
//
//	options of cache or clientgo ──▶ Spec ──▶ New
//	                                           │
//	                  source ── Items ──▶ reflector ──▶ store ──▶ handlers
//	                                      └────────── informer ──────────┘
//
//	options of cache or clientgo ──▶ Collection ──▶ NewReflector
//	                                                     │
//	                            source ── Items ──▶ reflector ──▶ storewriter
//
// The stages of an informer know objects as any. Only package cache's generic types know T, and
// they are thin: Go compiles the instances of generic code in each package that uses them, so a
// generic engine would be compiled again in each package of a program that names cache's types. Of
// the internal packages, only the containers (snapmap, eventlog and intern) and storewriter have
// generic types.
//
// A Collection and a Spec hold the configurations of the stages (source.Config, reflector.Config,
// informer.Config and, in that, store.Config) for the options that concern one stage alone. Their
// other fields concern several: Packed, for example, decides how the source decodes, and what the
// store keeps. New derives the rest of the configurations from them.
//
// A new option is a field in cache/options.go (InformerOptions; also check, spec, and sameAs, by
// which a factory compares options) and in clientgo/options.go (Options; clientgo/informer.go has
// its spec). If it concerns one stage, spec sets it in the configuration of that stage, such as
// store.Config. Only an option that concerns several stages is a field of Spec or Collection. What
// an entry of the store holds is declared in internal/store/entry.go and made in item.go.
package engine
