package cost

import (
	"fmt"
	"strconv"
)

// byteSize returns a size in decimal units, with three significant digits.
func byteSize(n int64) string {
	value, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB"}
	for value >= 999.5 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	digits := 0
	for limit := 99.95; unit > 0 && value < limit && digits < 2; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + " " + units[unit]
}

// count returns a number with separators.
func count(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return count(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// plural returns a number of things.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}
