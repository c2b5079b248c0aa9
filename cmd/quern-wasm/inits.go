//go:build !js

package main

import (
	"encoding/binary"
	"fmt"
	"regexp"
)

// What the program knows of its packages' beginnings, as runtime/proc.go of Go 1.26 reads it.
const (
	moduleInits = 472 // in what the program knows of itself: the address of a list of addresses, and its length
	initDone    = 2   // a beginning says first whether it is done, in 4 bytes, and then of how many functions it is
	initHead    = 8   // after which their addresses come
	slotShift   = 16  // an address of code is a function's slot in the table, and then a place in it
)

// mapInit is the name of a function that fills a map of a package; only the package's beginning calls it.
var mapInit = regexp.MustCompile(`\.map\.init\.\d+$`)

// dropInits takes out of a program that has begun what packages begin with, which runs once.
func (f *functions) dropInits(image []byte, names map[int]string) error {
	le := binary.LittleEndian
	word := func(at uint64) uint64 {
		if at > uint64(len(image)-8) {
			return 0
		}
		return le.Uint64(image[at:])
	}
	_, module, err := findTables(image)
	if err != nil {
		return err
	}
	dropped := 0
	drop := func(i int) {
		f.bodies[i] = []byte{0, opTrap, opEnd}
		dropped++
	}
	list, count := word(uint64(module+moduleInits)), word(uint64(module+moduleInits+8))
	for n := range min(count, uint64(len(image))) {
		task := word(list + 8*n)
		head := word(task)
		if uint32(head) != initDone {
			return fmt.Errorf("%w: a package has not begun, or is not as Go 1.26 writes it", errTable)
		}
		for k := range head >> 32 {
			i := int(word(task+initHead+8*k)>>slotShift) - f.first
			if i < 0 || i >= len(f.bodies) {
				return errTable
			}
			drop(i)
		}
	}
	if dropped == 0 {
		return errTable
	}
	for i := range f.bodies {
		if mapInit.MatchString(names[f.imported+i]) {
			drop(i)
		}
	}
	return nil
}
