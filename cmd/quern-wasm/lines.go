//go:build !js

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// What the linker has of functions, as runtime/symtab.go and runtime2.go of Go 1.26 read it: a
// header with the offsets of its parts, and for each function a record behind all of them.
const (
	tableMagic  = "\xf1\xff\xff\xff\x00\x00\x01\x08"
	tableHeader = 72
	tableCount  = 8  // in the header: how many functions
	tableUnits  = 40 // the files of each package, by their numbers in it
	tableValues = 56 // tables of numbers for addresses in a function; the names of files end here
	tableRecord = 64 // for each function its address and its record, and then the records
	recordFrame = 16 // in a record: the table of the frame's size
	recordFile  = 20 // of the file's number
	recordLine  = 24 // of the line
	recordMore  = 28 // how many more tables the record names
	recordSize  = 44 // what is before their names
)

var errTable = errors.New("the linker's table of functions is not in the memory, or not as Go 1.26 writes it")

// dropLines takes files and lines out of the linker's table of functions, in an image of the
// memory. Only the trace of a crash has them, which names functions then, and says ? for files.
func dropLines(image []byte) error {
	le := binary.LittleEndian
	at := bytes.Index(image, []byte(tableMagic))
	if at < 0 || len(image)-at < tableHeader {
		return errTable
	}
	t := image[at:]
	part := func(field int) int { return int(min(le.Uint64(t[field:]), uint64(len(t)))) }
	count, units, values, records := part(tableCount), part(tableUnits), part(tableValues), part(tableRecord)
	if units > values || values > records || count > (len(t)-records)/8 {
		return errTable
	}
	starts, used := map[int]bool{records - values: true}, map[int]bool{records - values: true}
	for i := range count {
		r := t[records:]
		if r = r[min(int(le.Uint32(r[8*i+4:])), len(r)):]; len(r) < recordSize {
			return errTable
		}
		more := int(le.Uint32(r[recordMore:]))
		if more > (len(r)-recordSize)/4 {
			return errTable
		}
		for j := range more {
			used[int(le.Uint32(r[recordSize+4*j:]))] = true
		}
		used[int(le.Uint32(r[recordFrame:]))] = true
		for _, lines := range []int{recordFile, recordLine} {
			starts[int(le.Uint32(r[lines:]))] = true
			clear(r[lines : lines+4]) // 0: there is none
		}
	}
	maps.Copy(starts, used)
	// A table ends where the next begins.
	order := slices.Sorted(maps.Keys(starts))
	if order[len(order)-1] != records-values {
		return errTable
	}
	for i, start := range order {
		if !used[start] {
			clear(t[values+start : values+order[i+1]])
		}
	}
	clear(t[units:values])
	return nil
}
