// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kinformer/kinformer/internal/units"
)

// maxName is the number of characters of a name that are shown.
const maxName = 200

// functions returns the functions of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"number":   units.Count[int],
		"number64": units.Count[uint64],
		"bytes":    units.Bytes[int64],
		"ubytes":   units.Bytes[uint64],
		"rate":     rate,
		"duration": duration,
		"seconds":  func(s float64) string { return duration(time.Duration(s * float64(time.Second))) },
		"name":     func(s string) string { return shorten(printable(s), maxName) },
		"cause":    func(s string) string { return shorten(printable(s), maxCause) },
		"clock":    func(t time.Time) string { return t.Format("15:04:05 MST") },
		"reasons":  reasons,
		"date":     func(t time.Time) string { return t.Format(time.RFC3339) },
	}
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
	return units.Count(uint64(f + 0.5))
}

// duration formats a duration with its two largest units.
func duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d == 0:
		return "0 s"
	case d < time.Microsecond:
		return strconv.Itoa(int(d)) + " ns"
	case d < time.Millisecond:
		return units.Digits(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return units.Digits(float64(d)/float64(time.Millisecond)) + " ms"
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
