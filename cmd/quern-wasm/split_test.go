//go:build !js

package main

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// program is a module as Go writes them: it imports site.rest and has three functions, of a
// parameter each, in the slots 16 to 18 of its table, a variable, an export and some data.
func program(data []byte) module {
	return module{
		{typeSection, []byte("\x02\x60\x00\x00\x60\x01\x7f\x01\x7f")},
		{importSection, []byte("\x02\x04site\x04rest\x00\x00\x02go\x03mem\x02\x03\x02\x80\x80\x04")},
		{functionSection, []byte("\x03\x01\x01\x01")},
		{tableSection, []byte("\x01\x70\x00\x13")},
		{globalSection, []byte("\x01\x7f\x01\x41\x00\x0b")},
		{exportSection, []byte("\x01\x03run\x00\x01")},
		{elementSection, []byte("\x01\x00\x41\x10\x0b\x03\x01\x02\x03")},
		{codeSection, []byte("\x03" + "\x04\x00\x20\x00\x0b" + "\x06\x01\x01\x7f\x20\x00\x0b" + "\x04\x00\x41\x07\x0b")},
		{dataSection, appendBytes([]byte("\x01\x00\x41\x00\x0b"), data)},
	}
}

func TestSplit(t *testing.T) {
	m := program([]byte("x"))
	f, err := m.functions()
	if err != nil {
		t.Fatal(err)
	}
	first, rest, err := m.split(f, "v1", func(i int) bool { return i != 1 })
	if err != nil {
		t.Fatal(err)
	}
	const (
		call  = "\x0c\x00\x20\x00\x41\x13\x11\x01\x00\x0b"     // slot 19, which rest adds
		fetch = "\xfc\x10\x00\x41\x14\x49\x04\x40\x10\x00\x0b" // there are fewer than 20: site.rest()
		early = "\x09\x00\x20\x00\x41\x10\x11\x01\x00\x0b"     // slot 16
		third = "\x09\x00\x20\x00\x41\x12\x11\x01\x00\x0b"     // slot 18
		begin = "\x14\x00\xd0\x70\x41\x01\xfc\x0f\x00\x1a\x41\x13\x41\x00\x41\x01\xfc\x0c\x00\x00\x0b"
	)
	second := "\x14\x00" + fetch + call[2:]
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"code of the first", first.section(codeSection), "\x03" + "\x04\x00\x20\x00\x0b" + second + "\x04\x00\x41\x07\x0b"},
		{"code of the rest", rest.section(codeSection), "\x04" + early + "\x06\x01\x01\x7f\x20\x00\x0b" + third + begin},
		{"functions of the rest", rest.section(functionSection), "\x04\x01\x01\x01\x02"},
		{"its start", rest.section(startSection), "\x04"},
		{"its elements", rest.section(elementSection), "\x01\x01\x00\x01\x02"},
	} {
		if string(tt.got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	// What the rest imports is what the first exports, and another version does not have it.
	if string(first.section(exportSection)) != "\x03\x03run\x00\x01\x08v1 table\x01\x00\x04v1 0\x03\x00" {
		t.Errorf("the first exports %q", first.section(exportSection))
	}
	if !bytes.Contains(rest.section(importSection), []byte("\x05start\x08v1 table\x01\x70\x00\x13\x05start\x04v1 0\x03\x7f\x01")) {
		t.Errorf("the rest imports %q", rest.section(importSection))
	}
	if _, _, err := m.with(importSection, []byte("\x00")).split(functions{loader: -1}, "v1", nil); err == nil {
		t.Error("a program that cannot fetch the rest was split")
	}
}

func TestProfile(t *testing.T) {
	m := program(nil)
	f, err := m.functions()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.profile(f); err == nil {
		t.Error("data lies where the marks are, and the program was changed")
	}
	m, err = m.with(dataSection, []byte("\x01\x00\x41\x83\x80\x01\x0b\x00")).profile(f)
	const mark = "\x41\x01\x3a\x00\x00"
	want := "\x03" + "\x0d\x00" + "\x41\x80\x80\x01" + mark + "\x20\x00\x0b" + "\x0f\x01\x01\x7f" + "\x41\x81\x80\x01" + mark + "\x20\x00\x0b" + "\x0d\x00" + "\x41\x82\x80\x01" + mark + "\x41\x07\x0b"
	if got := string(m.section(codeSection)); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, want := string(m.section(exportSection)), "\x02\x03run\x00\x01\x010\x03\x00"; got != want {
		t.Errorf("exports %q, want %q", got, want)
	}
}

// Which of a family ran is chance.
func TestEarly(t *testing.T) {
	names := map[int]string{
		3: "main.main", 4: "main.other", 5: "type_.hash.main.key", 6: "type_.eq.main.key", 7: "type_.eq.main.value",
		8: "slices.insertionSortOrdered_go.shape.int_", 9: "slices.breakPatternsOrdered_go.shape.int_", 10: "slices.breakPatternsOrdered_go.shape.string_",
		11: "runtime.stackfree", 12: "runtime.stackalloc", 13: "main.begin", 14: "internal_runtime_maps.__table_.Delete",
	}
	is := early([]byte{1, 0, 1, 0, 0, 1, 0, 0, 0, 2, 2, 0}, names, 3)
	var got []string
	for i := range 12 {
		if is(i) {
			got = append(got, names[3+i])
		}
	}
	want := "main.main type_.hash.main.key type_.eq.main.key slices.insertionSortOrdered_go.shape.int_ slices.breakPatternsOrdered_go.shape.int_ runtime.stackalloc internal_runtime_maps.__table_.Delete"
	if strings.Join(got, " ") != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// The data is as it was, without the table and zeros, which a function makes again.
func TestShrink(t *testing.T) {
	table := make([]byte, 3*buckets*bucket)
	for i := range 3 * buckets {
		binary.LittleEndian.PutUint32(table[i*bucket:], uint32(i/buckets))
	}
	data := append(append(append([]byte("front"), make([]byte, 195)...), table...), "back"...)
	m := program([]byte("what it began with"))
	f, err := m.functions()
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.shrink(f, data)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.section(dataSection); s != nil {
		t.Errorf("data: %q", s)
	}
	far := slices.Concat(data, make([]byte, gap), []byte("far"))
	all, places := pieces(far)
	if again := make([]byte, len(far)); true {
		for from := 0; len(places) > 0; places = places[2:] {
			from += copy(again[places[0]:places[0]+places[1]], all[from:])
		}
		if !bytes.Equal(again, far) || string(all) != "frontbackfar" {
			t.Errorf("in pieces: %q", all)
		}
	}
	const fill = "\x29\x01\x02\x7f\x41\xc8\x01\x21\x00\x03\x40\x20\x00\x20\x01\x41\x04\x76\x36\x02\x00\x20\x00\x41\x14\x6a\x21\x00\x20\x01\x41\x01\x6a\x22\x01\x41\x30\x49\x0d\x00\x0b\x0b"
	if s := string(got.section(codeSection)); !strings.HasSuffix(s, fill) || s[0] != 4 {
		t.Errorf("code: %q", s)
	}
	if s := string(got.section(startSection)); s != "\x04" {
		t.Errorf("start: %q", s)
	}
	plain, err := m.shrink(f, []byte("front"))
	if err != nil || plain.section(startSection) != nil {
		t.Errorf("a program without the table: %v, start %q", err, plain.section(startSection))
	}
}
