package measure

import "k8s.io/apimachinery/pkg/runtime"

// Peak memory of client-go's informers, which need the most, above measured figures: those of the
// process itself, of each object, and of each byte that the server sent. A list is in memory as
// bytes and as objects, and the garbage collector doubles the heap at most.
const (
	processMemory      = 80 << 20
	objectMemory       = 6 << 10
	protobufByteMemory = 6
	jsonByteMemory     = 16
)

// PeakMemory returns an upper estimate of the memory that the largest child process needs.
func PeakMemory(objects, wireBytes int64, contentType string) int64 {
	perByte := int64(jsonByteMemory)
	if contentType == runtime.ContentTypeProtobuf {
		perByte = protobufByteMemory
	}
	return processMemory + objects*objectMemory + wireBytes*perByte
}
