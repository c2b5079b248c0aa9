//go:build !js

package main

import (
	"encoding/binary"
	"slices"
	"testing"
)

// Of a program that has begun, what packages begin with and what fills their maps is gone; of one that has not, nothing is.
func TestDropInits(t *testing.T) {
	const table, module, list, first, second = 8, 104, 600, 616, 640
	const slot = 4096 // of the first function
	made := func(state uint32) []byte {
		le, image := binary.LittleEndian, make([]byte, 700)
		copy(image[table:], tableMagic)
		for at, v := range map[int]uint64{
			module: table, module + 8: table + tableHeader, module + moduleInits: list, module + moduleInits + 8: 2,
			list: first, list + 8: second,
			first: 1<<32 | initDone, first + initHead: (slot + 1) << slotShift,
			second: 2<<32 | uint64(state), second + initHead: (slot + 3) << slotShift, second + initHead + 8: (slot + 4) << slotShift,
		} {
			le.PutUint64(image[at:], v)
		}
		return image
	}
	names := map[int]string{2: "a.f", 3: "a.init", 4: "a.map.init.10", 5: "b.init", 6: "b.init.0", 7: "b.__T_.init"}
	f := functions{imported: 2, first: slot}
	for range names {
		f.bodies = append(f.bodies, []byte("body"))
	}
	for name, image := range map[string][]byte{"not begun": made(1), "no program": make([]byte, 700)} {
		if err := f.dropInits(image, names); err == nil {
			t.Errorf("%s: no error", name)
		}
		for i := range f.bodies {
			f.bodies[i] = []byte("body")
		}
	}
	if err := f.dropInits(made(initDone), names); err != nil {
		t.Fatal(err)
	}
	var left []string
	for i, b := range f.bodies {
		if string(b) == "body" {
			left = append(left, names[f.imported+i])
		}
	}
	if want := []string{"a.f", "b.__T_.init"}; !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
}
