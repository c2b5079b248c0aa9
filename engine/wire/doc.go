// Package wire has the formats in which models write thinking, content and
// tool calls: one row of a table each (see table.go).
//
// A row is a description, of which a Reader is made here, and a grammar by
// engine/wire/rules: markers, where the name stands, how arguments are
// written, what stands between two calls. Formats are instances of a few
// shapes: call objects of JSON, a name and an object, a name and tagged
// arguments, calls of Python, messages with headers.
//
// A Reader takes the bytes of one reply as they come and gives events. It is
// bounded (see MaxHeld and the constants beside it), and repairs nothing in
// arguments: what is no JSON of the dialect ends the call, which then has no
// CallEnd.
package wire
