//go:build !js

package main

import (
	"fmt"
	"strings"
)

// marks is where a program that profile made says which functions ran, one byte for each:
// behind the arguments of Go, and before its data.
const marks = 1 << 14

// functions is what the sections of a module say of its functions.
type functions struct {
	imported int      // how many, which come first
	loader   int      // the imported one that fetches the rest
	kinds    []int    // of its own ones, their types
	bodies   [][]byte // and what they do
	params   []int    // of types
	table    int      // slots of the table
	first    int      // slot of the first of its own ones; the others follow
}

// functions reads the sections. All functions that the module has of its own are in its one
// table, one after the other, as Go puts them.
func (m module) functions() (functions, error) {
	f := functions{loader: -1}
	types := &reader{rest: m.section(typeSection)}
	for range types.list() {
		types.byte() // a function
		n := types.list()
		types.take(n)
		f.params = append(f.params, n)
		types.take(types.list())
	}
	imports := &reader{rest: m.section(importSection)}
	for range imports.list() {
		from, name := imports.take(imports.uint()), imports.take(imports.uint())
		if imports.byte() != functionKind {
			break // the memory, which importMemory puts last
		}
		if imports.uint(); string(from)+"."+string(name) == "site.rest" {
			f.loader = f.imported
		}
		f.imported++
	}
	kinds := &reader{rest: m.section(functionSection)}
	for range kinds.list() {
		kind := kinds.uint()
		if kind >= len(f.params) {
			return f, errModule
		}
		f.kinds = append(f.kinds, kind)
	}
	code := &reader{rest: m.section(codeSection)}
	for range code.list() {
		f.bodies = append(f.bodies, code.take(code.uint()))
	}
	table := &reader{rest: m.section(tableSection)}
	single := table.uint() == 1 && table.byte() == funcref && table.byte() == 0
	f.table = table.uint()
	elements := &reader{rest: m.section(elementSection)}
	single = single && elements.uint() == 1 && elements.byte() == 0 && elements.byte() == opConst
	f.first = int(elements.int())
	single = single && elements.byte() == opEnd && elements.list() == len(f.kinds)
	for i := range f.kinds {
		single = single && elements.uint() == f.imported+i
	}
	bad := types.bad || imports.bad || kinds.bad || code.bad || table.bad || elements.bad
	if bad || !single || len(f.bodies) != len(f.kinds) {
		return f, errModule
	}
	return f, nil
}

// profile makes every function of a program leave a mark when it runs, and its variables exports.
func (m module) profile(f functions) (module, error) {
	data := &reader{rest: m.section(dataSection)}
	if data.list() == 0 || data.byte() != 0 || data.byte() != opConst || data.int() < int64(marks+len(f.bodies)) {
		return nil, fmt.Errorf("%w: there is no room for marks before its data", errModule)
	}
	code := appendUint(nil, len(f.bodies))
	for i, body := range f.bodies {
		r := &reader{rest: body}
		for range r.list() { // its variables
			r.uint()
			r.byte()
		}
		if r.bad {
			return nil, errModule
		}
		b := append([]byte(nil), body[:len(body)-len(r.rest)]...)
		b = appendConst(appendConst(b, marks+i), 1)
		b = append(b, opStore8, 0, 0)
		code = appendBytes(code, append(b, r.rest...))
	}
	return m.with(codeSection, code).open()
}

// families are functions of which the one that runs depends on chance: what compares keys of
// maps runs where their hashes are alike, and which steps a sort takes depends on the order in
// which a map has given what is sorted. The names of a family have the first part in common,
// and what is after the second.
var families = [][2]string{{"type_.", "."}, {"slices.", "_"}} // type_.hash.x and type_.eq.x; slices.x_go.shape.string_

// What profile.mjs says of a function.
const (
	ranSince  = 1 // since the program had started
	ranBefore = 2 // only before that
)

// sized are functions of which the size of a map says which run.
const sized = "internal_runtime_maps."

// early says of a function whether a start may need it: it ran when one was tried, or another
// of its family did. When the runtime has to make room depends on chance too: what it ran before
// it may run again.
func early(ran []byte, names map[int]string, imported int) func(i int) bool {
	alike := map[string]bool{}
	family := func(i int) string {
		name := names[imported+i]
		for _, x := range families {
			if more, ok := strings.CutPrefix(name, x[0]); ok {
				_, kind, _ := strings.Cut(more, x[1])
				return x[0] + kind
			}
		}
		return name
	}
	for i, n := range ran {
		if n == ranSince || n == ranBefore && strings.HasPrefix(names[imported+i], "runtime.") {
			alike[family(i)] = true
		}
	}
	return func(i int) bool { return alike[family(i)] || strings.HasPrefix(names[imported+i], sized) }
}

// split makes two modules of a program: one with the functions for which early is true, and
// the rest. What the start does not need is not read, checked and kept ready at every start.
//
// Both have all functions under the numbers that they had. In the first the others call the
// rest, in slots that the rest adds to the table; before it is there they call site.rest,
// which fetches it. In the rest the early ones call the first, through the slots they always
// had. The rest imports the table and the variables of the first, under names with the version
// of the program: two programs do not mix.
func (m module) split(f functions, version string, early func(i int) bool) (first, rest module, err error) {
	if f.loader < 0 {
		return nil, nil, fmt.Errorf("%w: it does not import site.rest", errModule)
	}
	code, others := appendUint(nil, len(f.bodies)), appendUint(nil, len(f.bodies))
	var late []byte // their numbers
	n := 0
	for i, body := range f.bodies {
		if early(i) {
			code, others = appendBytes(code, body), appendBytes(others, f.forward(i, f.first+i, nil))
			continue
		}
		// if the table has no more slots than at first: site.rest()
		fetched := append([]byte{opMore, opSize, 0}, appendConst(nil, f.table+1)...)
		fetched = append(appendUint(append(fetched, opLess, opIf, empty, opCall), f.loader), opEnd)
		code, others = appendBytes(code, f.forward(i, f.table+n, fetched)), appendBytes(others, body)
		late = appendUint(late, f.imported+i)
		n++
	}
	shared, exports, err := m.shares(version + " ")
	if err != nil {
		return nil, nil, err
	}

	// The rest has a function more, which makes room in the table and fills it.
	types := &reader{rest: m.section(typeSection)}
	begin := appendUint(nil, types.uint()+1)
	begin = append(append(begin, types.rest...), 0x60, 0, 0)
	fill := append(appendConst([]byte{0, opNull, funcref}, n), opMore, opGrow, 0, opDrop)
	fill = append(appendConst(appendConst(appendConst(fill, f.table), 0), n), opMore, opInit, 0, 0, opEnd)
	list := appendUint(nil, len(f.kinds)+1)
	for _, kind := range f.kinds {
		list = appendUint(list, kind)
	}
	rest = module{
		{typeSection, begin}, {importSection, shared}, {functionSection, appendUint(list, len(f.params))},
		{startSection, appendUint(nil, f.imported+len(f.kinds))},
		{elementSection, append(appendUint([]byte{1, 1, functionKind}, n), late...)},
		{codeSection, appendBytes(append(appendUint(nil, len(f.bodies)+1), tail(others)...), fill)},
	}
	return m.with(exportSection, exports).with(codeSection, code), rest, nil
}

// tail returns a list without the number it begins with.
func tail(list []byte) []byte {
	r := &reader{rest: list}
	r.uint()
	return r.rest
}

// forward is the body of a function that does what begin does and then calls the one in a
// slot of the table.
func (f functions) forward(i, slot int, begin []byte) []byte {
	b := append([]byte{0}, begin...)
	for p := range f.params[f.kinds[i]] {
		b = appendUint(append(b, opGet), p)
	}
	b = appendUint(append(appendConst(b, slot), opIndirect), f.kinds[i])
	return append(b, 0, opEnd)
}

// shares returns the section of imports of a rest, and the section of exports that has what
// they want: the table and the variables.
func (m module) shares(version string) (imports, exports []byte, err error) {
	in, out := &reader{rest: m.section(importSection)}, &reader{rest: m.section(exportSection)}
	table, variables := &reader{rest: m.section(tableSection)}, &reader{rest: m.section(globalSection)}
	inputs, outputs, count := in.uint(), out.uint(), variables.uint()
	table.uint()
	in.rest = append(appendBytes(appendBytes(append([]byte(nil), in.rest...), "start"), version+"table"), tableKind)
	in.rest = append(in.rest, table.rest...)
	out.rest = append(appendBytes(append([]byte(nil), out.rest...), version+"table"), tableKind, 0)
	for i := range count {
		kind, name := variables.take(2), fmt.Sprint(version, i)
		in.rest = append(append(appendBytes(appendBytes(in.rest, "start"), name), globalKind), kind...)
		out.rest = appendUint(append(appendBytes(out.rest, name), globalKind), i)
		if op := variables.byte(); op != opConst && op != opConst64 {
			return nil, nil, errModule
		}
		variables.int()
		variables.byte()
	}
	if in.bad || out.bad || table.bad || variables.bad {
		return nil, nil, errModule
	}
	imports = append(appendUint(nil, inputs+1+count), in.rest...)
	return imports, append(appendUint(nil, outputs+1+count), out.rest...), nil
}
