package intern

import "sync/atomic"

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

// NewStrings returns an empty table. An ample one holds up to 114,688 strings of up to
// 128 bytes, and 8 MiB of longer ones.
func NewStrings(size TableSize) *Strings {
	return &Strings{
		short: newTable[struct{}](limits{maxSets: size.sets(16384), setBytes: unlimited}),
		long:  newTable[struct{}](limits{maxSets: size.sets(512), setBytes: maxLong}),
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

// Site is one place that strings come from: a field of a type. Many fields have few
// values, and a site knows the first ones that came again, so that these need not be
// looked for in the table. It keeps them for ever.
type FieldCache struct {
	Hits  HitEstimator
	slots [cacheSlots]atomic.Pointer[entry[struct{}]]
}

// sites is how many strings a Site knows: as many as most enumerations have values.
const cacheSlots = 8

// place returns where a string would be. Strings that differ in their length or
// their last letters mostly have different places.
func (s *FieldCache) slot(b []byte) *atomic.Pointer[entry[struct{}]] {
	return &s.slots[(len(b)+int(b[len(b)-1])+int(b[len(b)/2]))%cacheSlots]
}

// At is Of for the strings of one site. Where they do not come again, they are made
// without looking.
func (s *Strings) Intern(b []byte, fields *FieldCache) string {
	if len(b) == 0 {
		return ""
	}
	place := fields.slot(b)
	known := place.Load()
	if known != nil && known.key == string(b) {
		return known.key
	}
	t := s.table(len(b))
	if t == nil || !fields.Hits.Try() {
		return string(b)
	}
	tag := t.tag(b)
	e := t.find(tag, b)
	if e == nil {
		fields.Hits.Miss()
		return t.insert(tag, &entry[struct{}]{key: string(b)}).key
	}
	fields.Hits.Hit()
	if known == nil {
		place.Store(e)
	}
	return e.key
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
