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
	recordUnit  = 32 // its package's files
	recordStart = 36 // the line that it begins at
	recordFacts = 43 // how many facts about all of the function it names behind those tables
	recordSize  = 44 // what is before their names

	noFact = "\xff\xff\xff\xff"

	moduleFacts = 320 // in what the program knows of itself, which begins with the addresses of the header and of names: the address of facts
	moduleSize  = 488 // of it, as far as it is read
)

// Of the tables and facts of a function only the trace of a crash reads these, and what stops threads
// by signals, which browsers do not have: the tables of where it may be stopped, of which inlined
// call is where and of which arguments are alive, and the facts of inlined calls and of arguments.
var (
	traceTables = []int{0, 2, 3}
	traceFacts  = []int{3, 5, 6}
)

var errTable = errors.New("the linker's table of functions is not in the memory, or not as Go 1.26 writes it")

// dropLines takes files, lines, inlined calls and places of arguments out of what the linker has of
// functions, in an image of the memory. Only the trace of a crash has them, which names functions
// then, and says ? for files.
func dropLines(image []byte) error {
	le := binary.LittleEndian
	at, module, err := findTables(image)
	if err != nil {
		return err
	}
	t := image[at:]
	part := func(field int) int { return int(min(le.Uint64(t[field:]), uint64(len(t)))) }
	count, units, values, records := part(tableCount), part(tableUnits), part(tableValues), part(tableRecord)
	if units > values || values > records || count > (len(t)-records)/8 {
		return errTable
	}
	tables := shares{t[values:records], map[int]bool{}}
	facts := shares{image[min(le.Uint64(image[module+moduleFacts:]), uint64(len(image))):], map[int]bool{}}
	for i := range count {
		r := t[records:]
		if r = r[min(int(le.Uint32(r[8*i+4:])), len(r)):]; len(r) < recordSize {
			return errTable
		}
		more := int(le.Uint32(r[recordMore:]))
		if more > (len(r)-recordSize)/4-int(r[recordFacts]) {
			return errTable
		}
		for _, field := range []int{recordFile, recordLine} {
			tables.drop(r[field:], "\x00\x00\x00\x00") // there is none
		}
		tables.keep(r[recordFrame:])
		clear(r[recordUnit : recordStart+4])
		names := r[recordSize:]
		for j := range more {
			if slices.Contains(traceTables, j) {
				tables.drop(names[4*j:], "\x00\x00\x00\x00")
			} else {
				tables.keep(names[4*j:])
			}
		}
		names = names[4*more:]
		for j := range int(r[recordFacts]) {
			if string(names[4*j:][:4]) == noFact {
				continue
			}
			if slices.Contains(traceFacts, j) {
				facts.drop(names[4*j:], noFact)
			} else {
				facts.keep(names[4*j:])
			}
		}
	}
	tables.kept[0] = true // which says that there is no table
	clear(t[units:values])
	return errors.Join(tables.clear(len(tables.bytes)), facts.clear(0))
}

// findTables returns the addresses of the table of functions, and of what the program knows of itself.
func findTables(image []byte) (table, module int, err error) {
	le := binary.LittleEndian
	table = bytes.Index(image, []byte(tableMagic))
	if table < 0 || len(image)-table < tableHeader {
		return 0, 0, errTable
	}
	module = bytes.Index(image, le.AppendUint64(le.AppendUint64(nil, uint64(table)), uint64(table+tableHeader)))
	if module < 0 || len(image)-module < moduleSize {
		return 0, 0, errTable
	}
	return table, module, nil
}

// shares are bytes that records name parts of, each by where it begins, and whether one that stays does.
type shares struct {
	bytes []byte
	kept  map[int]bool
}

func (s shares) keep(name []byte) { s.kept[int(binary.LittleEndian.Uint32(name))] = true }

// drop has a record name none instead.
func (s shares) drop(name []byte, none string) {
	at := int(binary.LittleEndian.Uint32(name))
	if _, known := s.kept[at]; !known {
		s.kept[at] = false
	}
	copy(name, none)
}

// clear makes zeros of parts that no record names any more. One ends where the next begins, and the
// last at end; where that is 0 it stays.
func (s shares) clear(end int) error {
	order := slices.Sorted(maps.Keys(s.kept))
	if n := len(order); n > 0 && order[n-1] > len(s.bytes) {
		return errTable
	}
	for i, at := range order {
		next := end
		if i+1 < len(order) {
			next = order[i+1]
		}
		if !s.kept[at] {
			clear(s.bytes[at:max(at, next)])
		}
	}
	return nil
}
