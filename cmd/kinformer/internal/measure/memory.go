// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import "k8s.io/apimachinery/pkg/runtime"

// Peak memory of client-go's informer with a list, which needs the most: that of the process
// itself, of an object, and of a byte that the server sends. The figures are the largest measured:
// ConfigMaps of 19 KB and Pods of 6 KB take 5 bytes for each byte, empty Pods 4 KB each, and custom
// resources with many short fields, which are maps in memory, 22 bytes for each byte. Lists of tiny
// maps can take three times as much; a child process with them is killed at the bound of its
// memory.
const (
	processMemory      = 64 << 20
	objectMemory       = 4500
	protobufByteMemory = 5
	jsonByteMemory     = 22
)

// PeakMemory returns an upper estimate of the memory that the largest child process needs.
func PeakMemory(objects, wireBytes int64, contentType string) int64 {
	perByte := int64(jsonByteMemory)
	if contentType == runtime.ContentTypeProtobuf {
		perByte = protobufByteMemory
	}
	return processMemory + objects*objectMemory + wireBytes*perByte
}
