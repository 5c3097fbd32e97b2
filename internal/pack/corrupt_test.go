package pack

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// example is a packed object of each kind, and what it stands for.
type example struct {
	name string
	o    Object
	raw  []byte
}

func examples(tb testing.TB) []example {
	tb.Helper()
	p := New()
	var all []example
	add := func(name string, raw []byte, owner string) {
		all = append(all, example{name, checked(tb, p, raw, owner, Object{}), raw})
	}
	add("before the dictionary", podLike(0, 0), "")
	for i := range 150 {
		checked(tb, p, podLike(i, 0), "", Object{})
	}
	add("of the dictionary", podLike(200, 0), "")
	add("base", podLike(201, 0), "owner")
	add("sibling", podLike(201, 1), "owner")
	if sibling := all[len(all)-1].o; sibling.isBase() {
		tb.Fatal("the example of a sibling is none")
	}
	add("repetitive", []byte(strings.Repeat("abcdefgh", 30)), "")
	add("as it is", []byte(strings.Repeat("a", 100_000)), "")
	add("nothing", nil, "")
	return all
}

// variants are what may become of bytes: each bit turned, cut short at each place,
// and more behind them. That there are none at all is not among them: it is what
// tells a base.
func variants(data string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		step := 1 + len(data)/4096 // of what is long, some will do
		for at := 0; at < len(data); at += step {
			for bit := range 8 {
				turned := data[:at] + string([]byte{data[at] ^ 1<<bit}) + data[at+1:]
				if !yield(turned) {
					return
				}
			}
			if at > 0 && !yield(data[:at]) || !yield(data[:at]+data[at+1:]) {
				return
			}
		}
		yield(data + "\x00")
		yield(data + data)
	}
}

// wantIntactOrError unpacks an object that may be corrupt.
func wantIntactOrError(t *testing.T, what string, o Object, raw []byte) (failed bool) {
	t.Helper()
	got, err := o.Unpack(nil)
	switch {
	case err != nil && !errors.Is(err, ErrCorrupt):
		t.Fatalf("%s: the error is not ErrCorrupt: %v", what, err)
	case err == nil && !bytes.Equal(got, raw):
		t.Fatalf("%s: another object came out:\n%.200q\n%.200q", what, got, raw)
	}
	return err != nil
}

func TestCorruptBytesAreFound(t *testing.T) {
	for _, x := range examples(t) {
		t.Run(x.name, func(t *testing.T) {
			data, with := x.o.data, func(data string) Object { return Object{from: x.o.from, data: data} }
			if x.o.isBase() {
				data = x.o.from.object.data
				with = func(data string) Object { return x.o.from.object.withData(data) }
			}
			tried, found := 0, 0
			for corrupt := range variants(data) {
				tried++
				if wantIntactOrError(t, x.name, with(corrupt), x.raw) {
					found++
				}
			}
			if found*2 < tried {
				t.Errorf("of %d changes %d were found", tried, found)
			}
		})
	}
}

func (o Object) withData(data string) Object { o.data = data; return o }

// TestCorruptSourcesAreFound changes what siblings share.
func TestCorruptSourcesAreFound(t *testing.T) {
	for _, x := range examples(t) {
		if x.name != "sibling" && x.name != "of the dictionary" {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			if x.name == "of the dictionary" {
				text := x.o.from.dictionary.text
				for at := 0; at < len(text); at += 7 {
					text[at] ^= 4
					wantIntactOrError(t, x.name, x.o, x.raw)
					text[at] ^= 4
				}
				return
			}
			base := x.o.from
			for corrupt := range variants(base.object.data) {
				from := &source{object: base.object.withData(corrupt), length: base.length, desk: base.desk}
				wantIntactOrError(t, x.name, Object{from: from, data: x.o.data}, x.raw)
			}
		})
	}
}

// TestCorruptBytesTakeLittleMemory: whatever a header or an instruction says.
func TestCorruptBytesTakeLittleMemory(t *testing.T) {
	for _, x := range examples(t) {
		var before, after runtime.MemStats
		for corrupt := range variants(x.o.data) {
			runtime.ReadMemStats(&before)
			_, _ = x.o.withData(corrupt).Unpack(nil)
			runtime.ReadMemStats(&after)
			limit := uint64(2*maxGrowth*len(corrupt) + 8*maxDictionary + 64<<10)
			if got := after.TotalAlloc - before.TotalAlloc; got > limit {
				t.Fatalf("%s: %d bytes allocated for %d", x.name, got, len(corrupt))
			}
		}
	}
}

// TestRandomBytes unpacks what nobody has packed.
func TestRandomBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	sibling := examples(t)[3].o
	for range 20_000 {
		data := make([]byte, random.IntN(60))
		for i := range data {
			data[i] = byte(random.IntN(256)) >> (random.IntN(2) * 4)
		}
		if _, err := sibling.withData("1234" + string(data)).Unpack(nil); err == nil {
			t.Fatalf("%q can be unpacked", data)
		}
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	sibling := examples(t)[3].o
	broken := &source{object: Object{data: "123456"}, desk: sibling.from.desk}
	for want, o := range map[string]Object{
		"there is no object":                             {},
		"too few for a header":                           sibling.withData("1"),
		"the header says a length of 1048575":            sibling.withData("1234\xff\xff\x3f0"),
		"cannot be carried out":                          sibling.withData("1234\x05\x07\xff\xff\x7f"),
		"bytes came out and not":                         sibling.withData("1234\x05\x08a\x00"),
		"the checksum differs":                           sibling.withData("1234\x01\x08a\x00"),
		"the sibling that it is packed against: corrupt": {from: broken, data: sibling.data},
	} {
		if _, err := o.Unpack(nil); !errors.Is(err, ErrCorrupt) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v; want one about %q", err, want)
		}
	}
}
