// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

// JSONStrings deduplicates the member names and the string values of JSON objects. Values have type
// any, so that equal ones share a string header as well as the bytes.
type JSONStrings struct {
	values  *table[any]
	members *table[Member]
}

// Member is the name of a JSON object's member, with an estimate of whether its values recur.
type Member struct {
	Name string
	Hits HitEstimator
}

// NewJSONStrings returns empty tables. Large ones hold up to 114,688 values of up to 256 bytes and
// 7,168 names.
func NewJSONStrings(size TableSize) *JSONStrings {
	return &JSONStrings{
		values:  newTable[any](limits{maxSets: size.sets(16384), setBytes: unlimited}),
		members: newTable[Member](limits{maxSets: size.sets(1024), setBytes: unlimited}),
	}
}

// maxName and maxString are the lengths in bytes up to which names and values are deduplicated.
const maxName, maxString = 512, 256

// Member returns the member of the given name. It does not retain name.
func (j *JSONStrings) Member(name []byte) *Member {
	if len(name) > maxName {
		return &Member{Name: string(name)}
	}
	tag := j.members.tag(name)
	e := j.members.find(tag, name)
	if e == nil {
		e = &entry[Member]{key: string(name)}
		e.value.Name = e.key
		e = j.members.insert(tag, e)
	}
	return &e.value
}

// Intern returns b as a string, a value of member. It does not retain b.
func (j *JSONStrings) Intern(b []byte, member *Member) any {
	if len(b) == 0 || len(b) > maxString || !member.Hits.Try() {
		return string(b)
	}
	tag := j.values.tag(b)
	if e := j.values.find(tag, b); e != nil {
		member.Hits.Hit()
		return e.value
	}
	member.Hits.Miss()
	s := string(b)
	return j.values.insert(tag, &entry[any]{key: s, value: s}).value
}
