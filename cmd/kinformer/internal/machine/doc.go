// Package machine says how much memory this process may use.
package machine

// fallback is the memory assumed where it is unknown.
const fallback = 4 << 30
