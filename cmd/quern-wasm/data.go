//go:build !js

package main

import "encoding/binary"

const (
	gap     = 1024 // zeros from which on they are left out
	bucket  = 20   // bytes of the linker's table for a part of a function's numbers
	buckets = 16   // such parts of a function, which all say its number and then zeros
)

// shrink takes its data out of a program, and out of an image of its memory
// the linker's table from addresses of code to functions: in WebAssembly it says the number of
// each function sixteen times. A function that runs first makes it.
func (m module) shrink(f functions, image []byte) (module, error) {
	at, n := findTable(image, len(f.bodies))
	if n > 0 {
		clear(image[at : at+n*bucket])
		var err error
		if m, err = m.fill(f, at, n); err != nil {
			return nil, err
		}
	}
	return m.with(dataSection, nil), nil
}

// findTable returns where in the data the table is, and how many buckets of it are as a
// function makes them: 0 where it is not there.
func findTable(image []byte, functions int) (at, n int) {
	as := func(at, i int) bool {
		b := image[at+i*bucket:]
		return len(b) >= bucket && binary.LittleEndian.Uint32(b) == uint32(i/buckets) && isZero(b[4:bucket])
	}
	// All before the second function's is zero, and the last one's may be cut.
	least := (functions - 2) * buckets
	for at = 0; at+least*bucket <= len(image); at += 4 {
		if n = buckets; image[at+n*bucket] != 1 || image[at+2*n*bucket] != 2 {
			continue
		}
		for n = 0; at+(n+1)*bucket <= len(image) && as(at, n); n++ {
		}
		if n >= least {
			return at, n
		}
	}
	return 0, 0
}

func isZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// fill has a function of its own make the table when the program begins.
func (m module) fill(f functions, at, n int) (module, error) {
	if m.section(startSection) != nil {
		return nil, errModule
	}
	types, kinds, code := &reader{rest: m.section(typeSection)}, &reader{rest: m.section(functionSection)}, &reader{rest: m.section(codeSection)}
	types.uint()
	kinds.uint()
	code.uint()
	const place, number = 0, 1 // variables
	b := append(appendConst([]byte{1, 2, i32}, at), opSet, place, opLoop, empty)
	b = append(appendConst(append(b, opGet, place, opGet, number), 4), opShift, opStore, 2, 0) // 2 to the 4th: buckets
	b = append(appendConst(append(b, opGet, place), bucket), opAdd, opSet, place)
	b = append(appendConst(append(b, opGet, number), 1), opAdd, opTee, number)
	b = append(appendConst(b, n), opLess, opBranchIf, 0, opEnd, opEnd)
	list := appendUint(append(appendUint(nil, len(f.kinds)+1), kinds.rest...), len(f.params))
	m = m.with(typeSection, append(append(appendUint(nil, len(f.params)+1), types.rest...), 0x60, 0, 0))
	m = m.with(codeSection, appendBytes(append(appendUint(nil, len(f.bodies)+1), code.rest...), b))
	return m.with(functionSection, list).with(startSection, appendUint(nil, f.imported+len(f.kinds))), nil
}

// pieces returns what of an image is not zero, and where each piece of that belongs: its address and size.
func pieces(image []byte) (all []byte, places []int) {
	for at := 0; at < len(image); {
		if image[at] == 0 {
			at++
			continue
		}
		end := at + 1 // behind the last byte that is not zero
		for i := end; i < len(image) && i < end+gap; i++ {
			if image[i] != 0 {
				end = i + 1
			}
		}
		all, places = append(all, image[at:end]...), append(places, at, end-at)
		at = end
	}
	return all, places
}
