// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gomod

import (
	"errors"
	"runtime/debug"
	"slices"
)

// The modules that the commands are about.
const (
	Kinformer = "github.com/kinformer/kinformer"
	ClientGo  = "k8s.io/client-go"
)

// AnyVersion is a version for a module that a folder replaces.
const AnyVersion = "v0.0.0-00010101000000-000000000000"

// OwnVersion returns the version of kinformer that this command was compiled with, which a go.mod
// can require.
func OwnVersion() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionIn(info.Deps)
}

// versionIn returns the version of kinformer among the modules of a program. A module that is
// replaced, or in the workspace, has no version that another one can require.
func versionIn(modules []*debug.Module) (string, error) {
	i := slices.IndexFunc(modules, func(m *debug.Module) bool { return m.Path == Kinformer })
	if i < 0 || modules[i].Replace != nil || modules[i].Version == "" || modules[i].Version == "(devel)" {
		return "", errors.New("this build of kinformer has no version that go.mod can require; name the folder of its source: --kinformer=DIR")
	}
	return modules[i].Version, nil
}
