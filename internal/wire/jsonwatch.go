package wire

import "errors"

// jsonWatch cuts a watch in JSON: events behind one another, with or without
// white space between them, each {"type": ..., "object": ...}.
//
// An event is held as a whole, since its members may come in any order.
type jsonWatch struct {
	*watchCutter
	jsonReader
}

func (j *jsonWatch) run() error {
	j.jsonReader.window = &j.cutter.window
	for {
		j.shrink()
		end, err := j.atEnd()
		if err != nil || end {
			return err
		}
		if err := j.event(); err != nil {
			return err
		}
	}
}

// event reads an event and hands it out.
func (j *jsonWatch) event() error {
	if c, err := j.peek(); err != nil || c != '{' {
		return notObject(c, err)
	}
	offset := j.offset()
	text, err := j.value(0, scopeEvent)
	if errors.Is(err, ErrTooLarge) && j.options.SkipOversized {
		j.current.Object.Offset = offset
		return j.passOver(err)
	}
	if err != nil {
		return err
	}
	found := &j.scanner.members
	if found.at[memberType] == (span{}) && found.at[memberObject] == (span{}) {
		return notEvent(text)
	}
	object := &j.current.Object
	object.Offset = offset
	j.setObject(object, found.at[memberObject].of(text), text)
	return j.deliver(found.string(text, memberType))
}

// notEvent is the error of an object that is no event: the error stated by it,
// if it is a Status.
func notEvent(text []byte) error {
	item, err := Parse(text, JSON)
	if err == nil && item.Kind == "Status" {
		return statusError(text, JSON)
	}
	return errNotFramed
}
