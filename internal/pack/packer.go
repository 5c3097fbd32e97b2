package pack

import "hash/maphash"

// Packer packs the objects of one collection: of one type and format, or they have
// nothing in common. It is safe for concurrent use.
type Packer struct {
	owners   owners
	training training
	desk     desk
}

// New returns a Packer that has not seen an object yet.
func New() *Packer { return &Packer{owners: owners{seed: maphash.MakeSeed()}} }

// Pack packs an object, of which raw is only lent. Objects with the same owner are
// taken for siblings; an object without owner ("") has none. old is what the
// object is going to replace, its own earlier state as a rule, or zero.
func (p *Packer) Pack(raw []byte, owner string, old Object) Object {
	w := p.desk.get()
	defer p.desk.put(w)
	base := old.base()
	if o := w.delta(raw, base, true); !o.IsZero() {
		return o
	}
	if owner == "" {
		return p.alone(w, raw)
	}
	if current := p.owners.get(owner); current != base {
		if o := w.delta(raw, current, false); !o.IsZero() {
			return o
		}
	}
	return p.newBase(w, raw, owner)
}

// newBase packs an object so that its siblings can be packed against it.
func (p *Packer) newBase(w *workspace, raw []byte, owner string) Object {
	base := &source{object: p.alone(w, raw), length: uint32(len(raw)), desk: &p.desk}
	p.owners.put(owner, base)
	return Object{from: base}
}

// alone packs an object against the dictionary.
func (p *Packer) alone(w *workspace, raw []byte) Object {
	from := p.training.current.Load()
	o := w.alone(raw, from)
	p.training.add(raw, len(o.data), &p.desk)
	return o
}

// base returns what an object is packed against, if that is a base, or its own.
func (o Object) base() *source {
	if o.from == nil || o.from.dictionary != nil {
		return nil
	}
	return o.from
}

// A difference pays while it takes less than this share of what the base takes, as
// an object of its size. An object of about the base's length differs in its own
// values, which cost as much anywhere; one of another length has parts that the
// base has not, which its siblings will have as well: it had better be a base. And
// where a base is not shared, the object pays for both.
const (
	paysAlike    = 15.0 / 16
	paysUnlike   = 10.0 / 16
	paysUnshared = 4.0 / 16
	paysAlways   = 64 // bytes
)

// pays returns up to how many bytes a difference to the base pays.
func (s *source) pays(length int, same bool) int {
	own := int(s.length)
	alone := float64(len(s.object.data)) * float64(length) / float64(max(own, 1))
	share := paysUnlike
	switch {
	case same && !s.shared.Load():
		share = paysUnshared
	case abs(length-own) <= own/8:
		share = paysAlike
	}
	return max(int(alone*share), paysAlways)
}

func abs(n int) int { return max(n, -n) }

// delta packs an object by its difference to a base, or returns zero where that
// does not pay. same says that it is a state of an object which was packed against
// it before.
func (w *workspace) delta(raw []byte, base *source, same bool) Object {
	if base == nil {
		return Object{}
	}
	text, err := w.unpack(base)
	if err != nil { // who reads the objects that need it will say so
		return Object{}
	}
	e := &w.encoder
	e.start(raw, text)
	if !e.siblings(base.pays(len(raw), same)) || !e.sound() {
		return Object{}
	}
	if !same && !base.shared.Load() {
		base.shared.Store(true)
	}
	return Object{from: base, data: string(e.out)}
}

// alone packs an object against a dictionary, or against nothing.
func (w *workspace) alone(raw []byte, from *source) Object {
	e := &w.encoder
	if from == nil {
		e.start(raw, nil)
		e.strangers(nil)
	} else {
		e.start(raw, from.dictionary.text)
		e.strangers(from.dictionary.index)
	}
	if e.sound() {
		return Object{from: from, data: string(e.out)}
	}
	e.start(raw, nil)
	e.whole()
	return Object{data: string(e.out)}
}
