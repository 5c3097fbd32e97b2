package intern

// Texts makes equal strings one for values of type any: a string in an any takes a
// string header in memory besides its bytes, and these are shared too. It also
// knows the names that the values have.
type JSONStrings struct {
	jsonStrings *table[any]
	members     *table[Member]
}

// Member is the name of a member of a JSON object, and whether what stands under
// that name comes again.
type Member struct {
	Name string
	Hits HitEstimator
}

// NewTexts returns empty tables. Ample ones hold up to 114,688 strings of up to 256
// bytes, and 7,168 names.
func NewJSONStrings(size TableSize) *JSONStrings {
	return &JSONStrings{
		jsonStrings: newTable[any](limits{maxSets: size.sets(16384), setBytes: unlimited}),
		members:     newTable[Member](limits{maxSets: size.sets(1024), setBytes: unlimited}),
	}
}

// maxName and maxText are the longest name of a member and string that are shared.
const maxName, maxValueString = 512, 256

// Member returns what is known under a name, of whose bytes it keeps nothing.
func (t *JSONStrings) Member(name []byte) *Member {
	if len(name) > maxName {
		return &Member{Name: string(name)}
	}
	tag := t.members.tag(name)
	e := t.members.find(tag, name)
	if e == nil {
		e = &entry[Member]{key: string(name)}
		e.value.Name = e.key
		e = t.members.insert(tag, e)
	}
	return &e.value
}

// Of returns a string of the bytes, of which it keeps nothing, as a value of member.
func (t *JSONStrings) Intern(b []byte, member *Member) any {
	if len(b) == 0 || len(b) > maxValueString || !member.Hits.Try() {
		return string(b)
	}
	tag := t.jsonStrings.tag(b)
	if e := t.jsonStrings.find(tag, b); e != nil {
		member.Hits.Hit()
		return e.value
	}
	member.Hits.Miss()
	s := string(b)
	return t.jsonStrings.insert(tag, &entry[any]{key: s, value: s}).value
}

// Size returns how much the tables hold. It walks over all of it.
func (t *JSONStrings) Size() Size { return t.jsonStrings.size().plus(t.members.size()) }
