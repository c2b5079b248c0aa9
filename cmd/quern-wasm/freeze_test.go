//go:build !js

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomImage is a state after a number of draws, as the runtime has it in memory.
func randomImage(seed [32]byte, draws int) []byte {
	r, block := rand.NewChaCha8(seed), draws/32
	for range block * 32 {
		r.Uint64()
	}
	n := 32
	if block == 3 {
		n = 28
	}
	b := make([]byte, randomBuffer, randomState)
	for i := range n {
		binary.LittleEndian.PutUint64(b[8*i:], r.Uint64())
	}
	b = append(b, seed[:]...)
	for _, v := range []int{draws % 32, n, 4 * block} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

const markVariable = 24 + len(freedName)

// markImage is what the runtime has of the marks of freed memory, at an address: a text, its
// address and length, that of a variable, and the variable.
func markImage(at int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64([]byte(freedName), uint64(at))
	b = le.AppendUint64(le.AppendUint64(b, uint64(len(freedName))), uint64(at+markVariable))
	return le.AppendUint32(b, 1)
}

// A browser puts the model's file and random numbers into the memory itself; what threads share is of no start.
func TestThin(t *testing.T) {
	model := bytes.Repeat([]byte("quern-tiny"), 10)
	image := make([]byte, 64<<10)
	copy(image, "threads")
	copy(image[arguments:], "arguments")
	copy(image[8000:], model)
	copy(image[9001:], model)
	copy(image[16000:], randomImage([32]byte{1}, 5))
	copy(image[24000:], randomImage([32]byte{2}, 100))
	copy(image[32000:], randomImage([32]byte{3}, 5)[:randomBuffer]) // numbers and no seed
	copy(image[40000:], markImage(40000))
	copy(image[41000:], strings.Repeat(freedWord, 100)+"x")
	copy(image[42000:], strings.Repeat(freedWord, freedRun-1)) // values of the program
	f := frozen{Pages: 1}
	if err := f.thin(image, model); err != nil {
		t.Fatal(err)
	}
	if want := []int{8000, 9001}; !slices.Equal(f.Model, want) {
		t.Errorf("the model is at %v, want %v", f.Model, want)
	}
	if want := []int{16000, 24000}; !slices.Equal(f.Random, want) {
		t.Errorf("random numbers are at %v, want %v", f.Random, want)
	}
	for _, at := range []int{0, 8000, 9001, 16000, 16000 + randomBuffer, 24000, 41000, 41000 + 400 - 32} {
		if !isZero(image[at : at+32]) {
			t.Errorf("the image has something at %d", at)
		}
	}
	if got := image[40000 : 40000+markVariable]; !bytes.Equal(got, markImage(40000)[:markVariable]) || !isZero(image[40000+markVariable:][:4]) {
		t.Errorf("the runtime still marks what it frees: %q", got)
	}
	for _, at := range []int{arguments, 16000 + randomBytes, 32000, 41400, 42000} {
		if isZero(image[at : at+8]) {
			t.Errorf("the image has nothing at %d", at)
		}
	}
	for name, x := range map[string]struct {
		frozen
		image []byte
	}{
		"another size":      {frozen{Pages: 2}, image},
		"no random numbers": {frozen{Pages: 1}, append(markImage(0), make([]byte, 64<<10-markVariable-4)...)},
		"no marks":          {frozen{Pages: 1}, append(randomImage([32]byte{1}, 5), make([]byte, 64<<10-randomState)...)},
	} {
		if err := x.thin(x.image, model); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The program goes on with the values that its variables had.
func TestThaw(t *testing.T) {
	m := program(nil).with(globalSection, []byte("\x02\x7f\x01\x41\x00\x0b\x7e\x01\x42\x00\x0b"))
	got, err := m.thaw(frozen{Variables: []string{"200", "-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(got.section(globalSection)), "\x02\x7f\x01\x41\xc8\x01\x0b\x7e\x01\x42\x7f\x0b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, values := range [][]string{nil, {"1"}, {"1", "x"}} {
		if _, err := m.thaw(frozen{Variables: values}); err == nil {
			t.Errorf("values %q: no error", values)
		}
	}
}

// The data of worker.js has everything but that of the module.
func TestFrozen(t *testing.T) {
	f, err := readFrozen([]byte(`{"variables":["7"],"pages":3,"clock":1.5,"values":[["at",["fs"]],null],"counts":[1,0],"free":[8],"functions":{"serve":2}}`))
	if err != nil || !slices.Equal(f.Variables, []string{"7"}) {
		t.Fatalf("%+v, %v", f, err)
	}
	f.Version, f.Model, f.Size, f.Random = "v", []int{4}, 6, []int{5}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"version":"v","pages":3,"clock":1.5,"values":[["at",["fs"]],null],"counts":[1,0],"free":[8],"functions":{"serve":2},"image":null,"model":[4],"size":6,"random":[5]}`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	if !strings.Contains(string(script("worker.js")), string(frozenMark)) {
		t.Error("worker.js has no place for it")
	}
}
