//go:build !js

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// arguments is where Go's arguments begin; before them is what threads share, which is of no start.
const arguments = 4096

// A frozen program is one that has started and waits, as profile.mjs writes it down. All of it is
// in memory and in its variables, but for what it holds of JavaScript.
type frozen struct {
	Variables []string       `json:"-"`         // their values
	Version   string         `json:"version"`   // that quern.wasm says too
	Pages     int            `json:"pages"`     // of memory, 64 KiB each
	Clock     float64        `json:"clock"`     // ms of its clock, from which it goes on
	Values    []any          `json:"values"`    // of JavaScript that it holds, as worker.js makes them again
	Counts    []int          `json:"counts"`    // how often it holds each
	Free      []int          `json:"free"`      // numbers of values that it holds no more
	Functions map[string]int `json:"functions"` // that it has for worker.js, by their numbers
	Image     []int          `json:"image"`     // addresses and sizes of the pieces of its memory, which are beside the program
	Model     []int          `json:"model"`     // addresses of quern-tiny's file, which is beside the program
	Size      int            `json:"size"`      // of that file
	Random    []int          `json:"random"`    // addresses of its random numbers, and of their seeds
}

// readFrozen reads what profile.mjs has written, with the memory.
func readFrozen(b []byte) (f frozen, err error) {
	var more struct{ Variables []string }
	if err = json.Unmarshal(b, &f); err == nil {
		err = json.Unmarshal(b, &more)
	}
	f.Variables = more.Variables
	return f, err
}

// thin takes out of the image of the memory what no start reads, and what a browser puts there
// itself: the file of the model, and random numbers.
func (f *frozen) thin(image, model []byte) error {
	if f.Pages*64<<10 != len(image) {
		return fmt.Errorf("%d pages are not the %d bytes of a memory", f.Pages, len(image))
	}
	clear(image[:min(arguments, len(image))])
	if err := clearFreed(image); err != nil {
		return err
	}
	f.Size = len(model)
	for at := 0; ; {
		i := bytes.Index(image[at:], model)
		if i < 0 || len(model) == 0 {
			break
		}
		at += i
		f.Model = append(f.Model, at)
		clear(image[at : at+len(model)])
	}
	if f.Random = findRandom(image); len(f.Random) == 0 {
		return errors.New("the runtime's random numbers are not in the memory")
	}
	for _, at := range f.Random {
		clear(image[at : at+randomBytes])
	}
	return nil
}

// What the collector has freed is full of one word, since profile.mjs asks for that.
const (
	freedName = "clobberfree" // what asks for it
	freedWord = "\xef\xbe\xad\xde"
	freedRun  = 4 // words from which on it is no value of the program
)

// clearFreed makes zeros of memory that the collector has freed, which no program reads before it has
// filled it anew, and has the collector no longer mark what it frees.
func clearFreed(image []byte) error {
	le := binary.LittleEndian
	asked := 0
	for at := 0; ; at++ {
		i := bytes.Index(image[at:], []byte(freedName))
		if i < 0 {
			break
		}
		at += i
		// The runtime has names with the variables that they are of: the text, its length, the variable.
		name := le.AppendUint64(le.AppendUint64(nil, uint64(at)), uint64(len(freedName)))
		if i := bytes.Index(image, name); i >= 0 && len(image)-i >= len(name)+8 {
			if v := le.Uint64(image[i+len(name):]); v+4 <= uint64(len(image)) && le.Uint32(image[v:]) == 1 {
				le.PutUint32(image[v:], 0)
				asked++
			}
		}
	}
	if asked != 1 {
		return errors.New("what marks freed memory is not in the memory, or not as Go 1.26 has it")
	}
	run := bytes.Repeat([]byte(freedWord), freedRun)
	for at := 0; ; {
		i := bytes.Index(image[at:], run)
		if i < 0 {
			return nil
		}
		for at += i; bytes.HasPrefix(image[at:], []byte(freedWord)); at += len(freedWord) {
			clear(image[at : at+len(freedWord)])
		}
	}
}

// What the runtime has of random numbers, as internal/chacha8rand keeps it: 32 numbers and the
// seed, which are random and are made anew; which of the numbers is next, how many there are,
// and the counter of the block that they are.
const (
	randomBuffer = 32 * 8
	randomBytes  = randomBuffer + 4*8
	randomState  = randomBytes + 3*4
)

// findRandom returns the addresses of states: the seed makes the numbers before it.
func findRandom(image []byte) (found []int) {
	le := binary.LittleEndian
	for at := 0; at+randomState <= len(image); at += 8 {
		tail := image[at+randomBytes:]
		next, n, counter := le.Uint32(tail), le.Uint32(tail[4:]), le.Uint32(tail[8:])
		last := counter == 12 // of the blocks of a seed, whose end is the next seed
		if counter > 12 || counter%4 != 0 || next > n || n != 32 && !last || n != 28 && last {
			continue
		}
		r := rand.NewChaCha8([32]byte(image[at+randomBuffer : at+randomBytes]))
		for range counter / 4 * 32 {
			r.Uint64()
		}
		same := true
		for i := 0; i < int(n) && same; i++ {
			same = r.Uint64() == le.Uint64(image[at+8*i:])
		}
		if same {
			found = append(found, at)
		}
	}
	return found
}

// thaw makes of a program the one that goes on from there: with its variables, whose values
// are text, in the places of those that it begins with.
func (m module) thaw(f frozen) (module, error) {
	variables := &reader{rest: m.section(globalSection)}
	count := variables.uint()
	if count != len(f.Variables) {
		return nil, fmt.Errorf("%w: %d variables, and values of %d", errModule, count, len(f.Variables))
	}
	list := appendUint(nil, count)
	for _, text := range f.Variables {
		var v int
		if _, err := fmt.Sscan(text, &v); err != nil {
			return nil, err
		}
		list = append(list, variables.take(2)...)
		op := variables.byte()
		if op != opConst && op != opConst64 {
			return nil, errModule
		}
		variables.int()
		list = append(appendInt(append(list, op), v), variables.byte())
	}
	if variables.bad {
		return nil, errModule
	}
	return m.with(globalSection, list), nil
}

// open makes a program's variables exports, after their numbers.
func (m module) open() (module, error) {
	out, variables := &reader{rest: m.section(exportSection)}, &reader{rest: m.section(globalSection)}
	outputs, count := out.uint(), variables.uint()
	for i := range count {
		out.rest = appendUint(append(appendBytes(slices.Clip(out.rest), fmt.Sprint(i)), globalKind), i)
	}
	if out.bad || variables.bad {
		return nil, errModule
	}
	return m.with(exportSection, append(appendUint(nil, outputs+count), out.rest...)), nil
}
