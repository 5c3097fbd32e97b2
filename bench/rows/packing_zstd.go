// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
)

const (
	// dictionarySize is the size of the largest dictionary of internal/pack.
	dictionarySize = 64 << 10
	// samples is the number of objects that zstd's dictionary is trained with. internal/pack
	// samples no more than one dictionarySize.
	samples = 1000
)

// zstdCompressors returns zstd's compressors in the order of the sides of row packing.
func zstdCompressors(objects []rawObject) (compressors []compressor, err error) {
	levels := []zstd.EncoderLevel{zstd.SpeedDefault, zstd.SpeedFastest}
	first := firstObjects(objects)
	for _, level := range levels {
		compressors = append(compressors, withZstd(level, zstd.WithEncoderDictRaw(1, first), zstd.WithDecoderDictRaw(1, first), first))
	}
	for _, level := range levels {
		trained, err := trainedDictionary(objects, level)
		if err != nil {
			return nil, err
		}
		compressors = append(compressors, withZstd(level, zstd.WithEncoderDict(trained), zstd.WithDecoderDicts(trained), trained))
	}
	return compressors, nil
}

// trainedDictionary returns a dictionary of what the first objects have in common.
func trainedDictionary(objects []rawObject, level zstd.EncoderLevel) ([]byte, error) {
	var contents [][]byte
	for _, o := range objects[:min(samples, len(objects))] {
		contents = append(contents, o.raw)
	}
	trained, err := dict.BuildZstdDict(contents, dict.Options{MaxDictSize: dictionarySize, HashBytes: 6, ZstdDictID: 1, ZstdLevel: level})
	if err != nil {
		return nil, fmt.Errorf("train a dictionary: %w", err)
	}
	return trained, nil
}

// firstObjects returns the first objects of different owners as a dictionary, as internal/pack
// samples them.
func firstObjects(objects []rawObject) (text []byte) {
	owners := map[string]bool{}
	for _, o := range objects {
		if !owners[o.owner] {
			text = append(text, o.raw[:min(len(o.raw), dictionarySize-len(text))]...)
		}
		owners[o.owner] = o.owner != ""
	}
	return text
}

// zstdObjects are compressed by zstd.
type zstdObjects struct {
	data       []string
	dictionary []byte
	option     zstd.DOption
	decoder    *zstd.Decoder // nil before the first use, so that the heap does not include it
}

// withZstd returns a compressor with a dictionary.
func withZstd(level zstd.EncoderLevel, encoding zstd.EOption, decoding zstd.DOption, dictionary []byte) compressor {
	return func(objects []rawObject) compressedObjects {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), encoding)
		if err != nil {
			panic(err) // a dictionary that was built is valid
		}
		z := &zstdObjects{data: make([]string, len(objects)), dictionary: append([]byte(nil), dictionary...), option: decoding}
		var buffer []byte
		for i, o := range objects {
			buffer = encoder.EncodeAll(o.raw, buffer[:0])
			z.data[i] = string(buffer)
		}
		return z
	}
}

func (z *zstdObjects) Decompress(dst []byte, i int) (_ []byte, err error) {
	if z.decoder == nil {
		if z.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), z.option); err != nil {
			return nil, err
		}
	}
	return z.decoder.DecodeAll(bytesOf(z.data[i]), dst)
}
