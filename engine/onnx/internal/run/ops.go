package run

import "quern/formats/onnx"

// A Table is operators by name, those of other domains with the domain before it.
type Table map[string]Op

// Join returns what tables hold together. No operator may be in two of them.
func Join(tables ...Table) Table {
	all := make(Table)
	for _, t := range tables {
		for name, do := range t {
			if all[name] != nil {
				panic("onnx: two operators " + name)
			}
			all[name] = do
		}
	}
	return all
}

// Operators are what a Session runs.
type Operators struct {
	Table Table             // of one Session, which adds to it
	Hints map[string]string // what to do about operators that are left out
	// Fuse puts steps in place of groups of nodes, see Define.
	Fuse func(*Session, *Body)
}

// OpName returns the name of a node's operator in a Table.
func OpName(n *onnx.Node) string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}
