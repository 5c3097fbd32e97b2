package intern

import "sync/atomic"

// ways is how many entries a set has room for.
const ways = 7

// set is the entries whose tags begin alike. Which of them has to go for a new one:
//
//   - the newest, if nobody has asked for it since. So what never comes twice goes
//     through this one place, however much of it there is.
//   - otherwise the next one, going round, that nobody has asked for since the last
//     time round (the CLOCK algorithm).
//
// tags and refs are read without a lock, one after the other, so that a tag may
// meet the entry before or after its own: whoever finds an entry compares its key.
type set[V any] struct {
	tags [ways]atomic.Uint32 // 0: free
	// asked has a bit for each entry that somebody has asked for since the hand
	// went over it; readers set them.
	referenced atomic.Uint32
	entries    [ways]atomic.Pointer[entry[V]]

	newest, hand uint8 // the stripe's lock guards them
}

// find returns the entry of a key, or nil.
func (s *set[V]) find(tag uint32, key []byte) *entry[V] {
	for i := range s.tags {
		if s.tags[i].Load() != tag {
			continue
		}
		if e := s.entries[i].Load(); e != nil && e.key == string(key) {
			s.touch(i)
			return e
		}
	}
	return nil
}

// findString is find, of a key that is a string.
func (s *set[V]) findString(tag uint32, key string) *entry[V] {
	for i := range s.tags {
		if s.tags[i].Load() != tag {
			continue
		}
		if e := s.entries[i].Load(); e != nil && e.key == key {
			s.touch(i)
			return e
		}
	}
	return nil
}

// touch notes that somebody has asked for an entry. Most of the time that is noted
// already, and the set's memory stays in every processor's cache.
func (s *set[V]) touch(i int) {
	if bit := uint32(1) << i; s.referenced.Load()&bit == 0 {
		s.referenced.Or(bit)
	}
}

// insert puts an entry in, and takes out what there is no room for beside it. It
// tells whether that was anything, and something useful. The caller holds the
// stripe's lock.
func (s *set[V]) insert(tag uint32, e *entry[V], maxBytes int) (evicted, usefulEvicted bool) {
	i, evicted, usefulEvicted := s.pickSlot()
	s.remove(i)
	for maxBytes != unlimited && s.keyBytes()+len(e.key) > maxBytes {
		s.remove(s.advanceHand())
		evicted, usefulEvicted = true, true
	}
	s.entries[i].Store(e)
	s.tags[i].Store(tag)
	s.newest = uint8(i)
	return evicted, usefulEvicted
}

// place returns where a new entry goes, and whether another one has to go for it,
// and a useful one.
func (s *set[V]) pickSlot() (i int, taken, usefulEvicted bool) {
	for i := range s.tags {
		if s.tags[i].Load() == 0 {
			return i, false, false
		}
	}
	if s.referenced.Load()&(1<<s.newest) == 0 {
		return int(s.newest), true, false
	}
	return s.advanceHand(), true, true
}

// next moves the hand to the next entry that nobody has asked for lately, and on.
func (s *set[V]) advanceHand() int {
	for {
		i := int(s.hand)
		s.hand = (s.hand + 1) % ways
		if bit := uint32(1) << i; s.referenced.Load()&bit != 0 {
			s.referenced.And(^bit)
			continue
		}
		return i
	}
}

// clear takes an entry out, if there is one.
func (s *set[V]) remove(i int) {
	s.tags[i].Store(0)
	s.entries[i].Store(nil)
	s.referenced.And(^(uint32(1) << i))
}

// bytes is the size of all keys.
func (s *set[V]) keyBytes() (n int) {
	s.each(func(_ uint32, e *entry[V]) { n += len(e.key) })
	return n
}

// each calls f for each entry.
func (s *set[V]) each(f func(tag uint32, e *entry[V])) {
	for i := range s.entries {
		if e := s.entries[i].Load(); e != nil {
			f(s.tags[i].Load(), e)
		}
	}
}
