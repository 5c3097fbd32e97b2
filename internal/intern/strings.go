package intern

// Strings makes equal strings one.
//
// Two tables, so that neither kind pushes out the other: there are many short
// strings (names, images, values), and few long ones (annotations that hold whole
// objects).
type Strings struct {
	short, long *table[struct{}]
}

const (
	// maxShort is the length of most strings of Kubernetes: names have up to 63 or
	// 253 bytes, and label values up to 63.
	maxShort = 128
	// maxLong is the longest that is shared: an equal string in every object that
	// is longer than this is not a thing to expect.
	maxLong = 16 << 10
)

// NewStrings returns an empty table. It holds up to 114,688 strings of up to 128
// bytes, and 8 MiB of longer ones.
func NewStrings() *Strings {
	return &Strings{
		short: newTable[struct{}](limits{maxSets: 16384, setBytes: ways * maxShort}),
		long:  newTable[struct{}](limits{maxSets: 512, setBytes: maxLong}),
	}
}

// Of returns a string of the bytes, of which it keeps nothing.
func (s *Strings) Of(b []byte) string {
	t := s.table(len(b))
	if t == nil {
		return string(b)
	}
	tag := t.tag(b)
	if e := t.find(tag, b); e != nil {
		return e.key
	}
	return t.insert(tag, &entry[struct{}]{key: string(b)}).key
}

// Worthwhile is Of for strings of which w knows whether they come again: where they
// do not, they are made without asking.
func (s *Strings) Worthwhile(b []byte, w *Worth) string {
	if len(b) == 0 || !w.Try() {
		return string(b)
	}
	t := s.table(len(b))
	if t == nil {
		return string(b)
	}
	tag := t.tag(b)
	if e := t.find(tag, b); e != nil {
		w.Hit()
		return e.key
	}
	w.Miss()
	return t.insert(tag, &entry[struct{}]{key: string(b)}).key
}

// table returns where strings of a length are, or nil: nowhere.
func (s *Strings) table(length int) *table[struct{}] {
	switch {
	case length == 0 || length > maxLong:
		return nil
	case length <= maxShort:
		return s.short
	}
	return s.long
}

// Size returns how much the tables hold. It walks over all of it.
func (s *Strings) Size() Size { return s.short.size().plus(s.long.size()) }
