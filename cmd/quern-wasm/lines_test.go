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

// Of what the linker wrote for this program names and frames stay, files and lines go.
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
	image := slices.Concat(make([]byte, 100), table, make([]byte, 100))
	if err := dropLines(image); err != nil {
		t.Fatal(err)
	}
	less := image[100 : 100+len(table)]
	if file, line, fn := look(less); fn != name || line > 0 || file != "" && file != "?" {
		t.Errorf("after: %s, %q line %d", fn, file, line)
	}
	zeros := func(b []byte) int { return bytes.Count(b, []byte{0}) }
	if more := zeros(less) - zeros(table); more < len(table)/10 {
		t.Errorf("%d of %d bytes are zero that were not", more, len(table))
	}
	// Frames, and what the collector asks, are as they were.
	if before, after := frames(table), frames(less); len(before) < 1000 || !reflect.DeepEqual(after, before) {
		t.Errorf("of %d functions some differ", len(before))
	}
}

// frames returns the tables of each function but those of files and lines.
func frames(table []byte) (all [][]byte) {
	le := binary.LittleEndian
	values, records := table[le.Uint64(table[tableValues:]):], table[le.Uint64(table[tableRecord:]):]
	for i := range le.Uint64(table[tableCount:]) {
		r, own := records[le.Uint32(records[8*i+4:]):], []byte{}
		names := append(slices.Clone(r[recordFrame:recordFrame+4]), r[recordSize:recordSize+4*le.Uint32(r[recordMore:])]...)
		for ; len(names) > 0; names = names[4:] {
			at := le.Uint32(names)
			for first := true; at != 0 && (first || values[at] != 0); first = false {
				for range 2 { // numbers of up to five bytes: by how much the value and the address differ
					own = append(own, values[at])
					for ; values[at]&0x80 != 0; at++ {
						own = append(own, values[at+1])
					}
					at++
				}
			}
		}
		all = append(all, own)
	}
	return all
}
