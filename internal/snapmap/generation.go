package snapmap

// Generation is the clock that a family of maps and sets shares: a store's
// entries and all its indexes. Whatever was written under an older generation
// is frozen for ever; the next write to it works on a copy.
//
// The zero value is ready. It is not safe for concurrent use by itself: the
// caller serialises Advance with the writers of all maps and sets that share it.
type Generation struct {
	now uint64
}

// Advance freezes the current pages of every map and set of the family in O(1).
// Views taken before the call are immutable from here on.
func (g *Generation) Advance() { g.now++ }
