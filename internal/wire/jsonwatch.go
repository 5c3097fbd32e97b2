// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// jsonWatch splits a watch in JSON: a sequence of events {"type": ..., "object": ...}, optionally
// separated by white space. It buffers whole events, because their members may come in any order.
type jsonWatch struct {
	*watchSplitter
	jsonReader
}

func (j *jsonWatch) split() error {
	j.jsonReader.window = &j.splitter.window
	for {
		j.shrink()
		end, err := j.atEnd()
		if err != nil || end {
			return err
		}
		if err := j.readEvent(); err != nil {
			return err
		}
	}
}

// readEvent reads an event and delivers it.
func (j *jsonWatch) readEvent() error {
	if c, err := j.peek(); err != nil || c != '{' {
		return notObject(c, err)
	}
	object := &j.current.Object
	object.Offset = j.offset()
	text, err := j.value(0, levelEvent)
	if isSkippable(err) && j.options.SkipOversized {
		return j.skipOversized(err)
	}
	if err != nil {
		return err
	}
	found := &j.scanner.members
	if found.seen&(1<<memberType|1<<memberObject) == 0 {
		return j.unframedError(text)
	}
	j.setObject(object, found.at[memberObject].of(text), text)
	return j.deliver(found.string(text, memberType), found.typeError(1<<memberObject))
}

// unframedError returns the error for an object that is not an event. For a Status it is the error
// that the Status encodes.
func (j *jsonWatch) unframedError(text []byte) error {
	if err := j.headerLimit.check(int64(len(text))); err != nil {
		return errNotFramed
	}
	item, err := Parse(text, JSON)
	if err == nil && item.Kind == "Status" {
		return statusError(text, JSON)
	}
	return errNotFramed
}
