package wire

import "io"

// jsonReader reads JSON that is still arriving.
type jsonReader struct {
	*window
	scanner scanner

	apiVersion, kind string // of the last object, so that equal ones are one
}

// peek passes over white space and returns the byte that follows it, which
// stays where it is. Nothing is held. At the end of the body it returns
// io.ErrUnexpectedEOF.
func (r *jsonReader) peek() (byte, error) {
	for {
		for ; r.pos < r.end; r.pos++ {
			switch c := r.buf[r.pos]; c {
			case ' ', '\n', '\t', '\r':
			default:
				r.release()
				return c, nil
			}
		}
		r.release()
		if err := r.fill(); err != nil {
			return 0, cutShort(err)
		}
	}
}

// take reads a byte that has to be c.
func (r *jsonReader) take(c byte, name string) error {
	got, err := r.peek()
	if err != nil {
		return err
	}
	if got != c {
		return unexpected(got, name)
	}
	r.pos++
	return nil
}

// value reads a value, which lies outer levels deep in the document. Its bytes
// are held: they are valid until more is read.
func (r *jsonReader) value(outer int, sort scope) ([]byte, error) {
	if _, err := r.peek(); err != nil {
		return nil, err
	}
	r.scanner.start(outer, sort)
	for {
		done, err := r.scanner.scan(r.buf[r.mark:r.end])
		r.pos = r.mark + r.scanner.i
		if err != nil {
			return nil, err
		}
		if r.scanner.i > r.limit {
			return nil, r.tooLarge(int64(r.scanner.i))
		}
		if done {
			return r.buf[r.mark:r.pos:r.pos], nil
		}
		if err := r.fill(); err != nil {
			return nil, cutShort(err)
		}
	}
}

// object calls member behind the name of each of an object's members; it has to
// read the value.
func (r *jsonReader) object(member func(name string) error) error {
	if err := r.take('{', "an object"); err != nil {
		return err
	}
	return r.elements('}', func() error {
		if c, err := r.peek(); err != nil || c != '"' {
			return notName(c, err)
		}
		quoted, err := r.value(depthMember, scopeOther)
		if err != nil {
			return err
		}
		name := string(unquote(quoted[1 : len(quoted)-1]))
		if err := r.take(':', "':'"); err != nil {
			return err
		}
		return member(name)
	})
}

// array calls element for each of an array's elements; it has to read it.
func (r *jsonReader) array(element func() error) error {
	if err := r.take('[', "an array"); err != nil {
		return err
	}
	return r.elements(']', element)
}

// elements reads what is between commas, to the closing byte.
func (r *jsonReader) elements(closing byte, element func() error) error {
	c, err := r.peek()
	if err != nil {
		return err
	}
	if c == closing {
		r.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		c, err := r.peek()
		if err != nil {
			return err
		}
		if c != ',' && c != closing {
			return unexpected(c, "',' or '"+string(closing)+"'")
		}
		r.pos++
		if c == closing {
			return nil
		}
	}
}

func notName(c byte, err error) error {
	if err != nil {
		return err
	}
	return unexpected(c, "the name of a member")
}

// setObject makes item the object that has just been scanned: raw, as part of
// text.
func (r *jsonReader) setObject(item *Item, raw, text []byte) {
	item.Raw, item.text = raw, text
	item.members = r.scanner.members
	r.apiVersion = reuse(r.apiVersion, item.members.string(text, memberAPIVersion))
	r.kind = reuse(r.kind, item.members.string(text, memberKind))
	item.APIVersion, item.Kind = r.apiVersion, r.kind
}

// reuse returns b as a string, last if it is the same.
func reuse(last string, b []byte) string {
	if last == string(b) {
		return last
	}
	return string(b)
}

// atEnd passes over white space and tells whether the body ends there.
func (r *jsonReader) atEnd() (bool, error) {
	_, err := r.peek()
	if err == io.ErrUnexpectedEOF && r.err == io.EOF {
		return true, nil
	}
	return false, err
}
