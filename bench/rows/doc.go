// Package rows holds the benchmarks: the P-rows of the design, and what else is
// compared with client-go. A file is a row; each says what situation it makes and
// which path of ours it goes through.
//
// What both sides need alike, objects above all, is made once and shared by them.
package rows
