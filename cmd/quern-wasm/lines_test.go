//go:build !js

package main

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

// Of what the linker wrote for this program names, frames and what the collector asks stay; files, lines
// and what else only traces have go.
func TestDropLines(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil || f.Section(".gopclntab") == nil {
		t.Skip("no ELF")
	}
	defer f.Close()
	table, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	pc := reflect.ValueOf(TestDropLines).Pointer()
	if table[6] != tableMagic[6] {
		t.Skip("places in functions are counted in words here, in a browser's program in bytes")
	}
	look := func(table []byte) (string, int, string) {
		symbols, err := gosym.NewTable(nil, gosym.NewLineTable(table, f.Section(".text").Addr))
		if err != nil {
			t.Fatal(err)
		}
		file, line, fn := symbols.PCToLine(uint64(pc))
		if fn == nil {
			return file, line, ""
		}
		return file, line, fn.Name
	}
	name := runtime.FuncForPC(pc).Name()
	if _, line, fn := look(table); fn != name || line <= 0 {
		t.Fatalf("before: %s, line %d", fn, line)
	}
	// The memory as the program has it: the table, what is known of the program, and facts of functions.
	const before = 104
	facts := bytes.Repeat([]byte{1}, 8<<20)
	module := make([]byte, moduleSize)
	for at, address := range map[int]int{0: before, 8: before + tableHeader, moduleFacts: before + len(table) + len(module)} {
		binary.LittleEndian.PutUint64(module[at:], uint64(address))
	}
	image := slices.Concat(make([]byte, before), table, module, facts)
	if err := dropLines(image); err != nil {
		t.Fatal(err)
	}
	less := image[before : before+len(table)]
	facts = image[before+len(table)+len(module):]
	if file, line, fn := look(less); fn != name || line > 0 || file != "" && file != "?" {
		t.Errorf("after: %s, %q line %d", fn, file, line)
	}
	zeros := func(b []byte) int { return bytes.Count(b, []byte{0}) }
	if more := zeros(less) - zeros(table); more < len(table)/10 {
		t.Errorf("%d of %d bytes are zero that were not", more, len(table))
	}
	was, is := frames(table), frames(less)
	if len(was) < 1000 || !reflect.DeepEqual(is, was) {
		t.Errorf("of %d functions some differ", len(was))
	}
	kept := 0
	for _, f := range was {
		for _, at := range f.facts {
			if at == none {
				continue
			}
			if kept++; facts[at] == 0 {
				t.Fatalf("a fact at %d is gone", at)
			}
		}
	}
	if gone := bytes.Count(facts, []byte{0}); kept < 1000 || gone < 1000 {
		t.Errorf("%d facts are kept, %d bytes gone", kept, gone)
	}
	for name, bad := range map[string][]byte{
		"no table":  make([]byte, 1000),
		"no module": slices.Concat(make([]byte, before), table),
		"cut":       image[:before+len(table)/2],
	} {
		if err := dropLines(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

const none = 1<<32 - 1

// A frame is what the collector and panics ask of a function.
type frame struct {
	tables [][]byte // as they are, nil for those of traces
	facts  []uint32 // where they are, none for those of traces
}

// frames returns what stays of each function.
func frames(table []byte) (all []frame) {
	le := binary.LittleEndian
	values, records := table[le.Uint64(table[tableValues:]):], table[le.Uint64(table[tableRecord:]):]
	for i := range le.Uint64(table[tableCount:]) {
		r := records[le.Uint32(records[8*i+4:]):]
		f := frame{tables: [][]byte{pairs(values, le.Uint32(r[recordFrame:]))}}
		names := r[recordSize:]
		for j := range int(le.Uint32(r[recordMore:])) {
			var own []byte
			if !slices.Contains(traceTables, j) {
				own = pairs(values, le.Uint32(names))
			}
			f.tables, names = append(f.tables, own), names[4:]
		}
		for j := range int(r[recordFacts]) {
			at := le.Uint32(names)
			if slices.Contains(traceFacts, j) {
				at = none
			}
			f.facts, names = append(f.facts, at), names[4:]
		}
		all = append(all, f)
	}
	return all
}

// pairs returns the table at a place: by how much the value and the address differ, as numbers of up to five bytes.
func pairs(values []byte, at uint32) (own []byte) {
	for first := true; at != 0 && (first || values[at] != 0); first = false {
		for range 2 {
			own = append(own, values[at])
			for ; values[at]&0x80 != 0; at++ {
				own = append(own, values[at+1])
			}
			at++
		}
	}
	return own
}
