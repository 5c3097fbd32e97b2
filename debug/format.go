package debug

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxName is the number of characters of a name that are shown.
const maxName = 200

// functions returns the functions of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"number":   number[int],
		"number64": number[uint64],
		"bytes":    byteSize[int64],
		"ubytes":   byteSize[uint64],
		"rate":     rate,
		"duration": duration,
		"seconds":  func(s float64) string { return duration(time.Duration(s * float64(time.Second))) },
		"name":     func(s string) string { return shorten(printable(s), maxName) },
		"cause":    func(s string) string { return shorten(printable(s), maxCause) },
		"clock":    func(t time.Time) string { return t.Format("15:04:05 MST") },
		"date":     func(t time.Time) string { return t.Format(time.RFC3339) },
	}
}

// number formats a whole number with a comma between groups of three digits.
func number[N int | uint64](n N) string {
	digits := strconv.FormatUint(uint64(max(n, 0)), 10)
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}

// count formats a number with a noun in the singular or plural.
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// byteSize formats a size with three digits.
func byteSize[N int64 | uint64](n N) string {
	size, unit := float64(n), 0
	for size >= 999.5 && unit < 4 {
		size, unit = size/1000, unit+1
	}
	return threeDigits(size, unit > 0) + " " + []string{"B", "kB", "MB", "GB", "TB"}[unit]
}

func threeDigits(f float64, fraction bool) string {
	switch {
	case !fraction || f >= 99.95:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// rate formats a number of events per second.
func rate(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 0.095:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case f < 99.5:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return number(uint64(f + 0.5))
}

// duration formats a duration with its two largest units.
func duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d == 0:
		return "0 s"
	case d < time.Microsecond:
		return strconv.Itoa(int(d)) + " ns"
	case d < time.Millisecond:
		return threeDigits(float64(d)/float64(time.Microsecond), d < 100*time.Microsecond) + " µs"
	case d < time.Second:
		return threeDigits(float64(d)/float64(time.Millisecond), d < 100*time.Millisecond) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return twoUnits(d, time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "min")
	}
	return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// shorten cuts a text to a number of characters.
func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit]) + "…"
}

// printable replaces characters that have no glyph, or would change the direction of what follows.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, text)
}

// RelistCount returns how often the informer has relisted.
func (i informer) RelistCount() (n uint64) {
	for _, count := range i.Relists {
		n += count
	}
	return n
}

// RelistReasons returns the reasons for relists with their numbers, the most frequent first.
func (i informer) RelistReasons() string {
	var texts []string
	for _, reason := range slices.SortedFunc(maps.Keys(i.Relists), func(a, b string) int {
		if d := int(i.Relists[b]) - int(i.Relists[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	}) {
		if n := i.Relists[reason]; n > 0 {
			texts = append(texts, fmt.Sprintf("%s %s", number(n), reason))
		}
	}
	return strings.Join(texts, ", ")
}
