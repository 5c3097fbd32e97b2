// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package gomod

import (
	"errors"
	"runtime/debug"
	"strings"
)

// The modules that the commands are about.
const (
	Kinformer = "github.com/kinformer/kinformer"
	ClientGo  = "k8s.io/client-go"
)

// OwnVersion returns the version of this command, which a go.mod can require.
func OwnVersion() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info.Main)
}

// versionOf returns the version of a module that another one can require. Changes that are not
// committed make it end with "+dirty".
func versionOf(m debug.Module) (string, error) {
	if m.Path != Kinformer || m.Version == "" || m.Version == "(devel)" || strings.Contains(m.Version, "+") {
		return "", errors.New("this build of kinformer has no version that go.mod can require; name the folder of its source: --kinformer=DIR")
	}
	return m.Version, nil
}
