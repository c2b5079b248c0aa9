package tts

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"quern/engine/tts/kokoro"
	"quern/formats/safetensors"
	"quern/formats/torch"
	"quern/formats/weights"
)

// Packs are the voices of a Kokoro model: files of one voice in a directory, and
// archives of many. They are listed when opened and read when first used.
type packs struct {
	width int
	names []string
	from  map[string]pack

	mu   sync.Mutex
	read map[string]*kokoro.Voice
}

// A pack is where a voice lies: a file, and its entry if that is an archive.
type pack struct{ path, entry string }

// Limits of what a directory may hold.
const (
	maxPack  = 64 << 20
	maxPacks = 4096
)

// packFiles are the endings of files of one voice, best first: the same voice
// often lies there in several.
var packFiles = []string{".safetensors", ".pt", ".bin"}

// voiceName is what a voice may be called.
var voiceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`) })

// openPacks lists the voices below a model's directory: voices/* and archives
// beside the model, whose rows have width values.
func openPacks(dir string, width int) (*packs, error) {
	p := &packs{width: width, from: make(map[string]pack), read: make(map[string]*kokoro.Voice)}
	for _, at := range []string{filepath.Join(dir, "voices"), dir} {
		entries, err := os.ReadDir(at)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, ending := range packFiles {
			for _, e := range entries {
				name, ok := strings.CutSuffix(e.Name(), ending)
				if at == dir || !ok || !voiceName().MatchString(name) {
					continue // model files lie in dir itself
				}
				p.add(name, pack{path: filepath.Join(at, e.Name())})
			}
		}
		for _, e := range entries {
			if n := e.Name(); strings.HasPrefix(n, "voices") && (strings.HasSuffix(n, ".bin") || strings.HasSuffix(n, ".npz")) || strings.HasSuffix(n, ".npz") {
				if err := p.addArchive(filepath.Join(at, n)); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(p.names) == 0 {
		return nil, fmt.Errorf("%w: no voices beside the model; put packs (.bin, .pt, .safetensors, or an .npz of many) into %s", weights.ErrFormat, filepath.Join(dir, "voices"))
	}
	if len(p.names) > maxPacks {
		return nil, fmt.Errorf("%w: more than %d voices", weights.ErrUnsupported, maxPacks)
	}
	slices.Sort(p.names)
	return p, nil
}

// voices describes the voices.
func (p *packs) voices() []Voice {
	out := make([]Voice, len(p.names))
	for i, n := range p.names {
		out[i] = describe(n)
	}
	return out
}

func (p *packs) add(name string, from pack) {
	if _, dup := p.from[name]; !dup {
		p.from[name] = from
		p.names = append(p.names, name)
	}
}

// addArchive lists an .npz: a zip of arrays, one voice each. Files that are no
// archive are one voice or none and left alone.
func (p *packs) addArchive(path string) error {
	z, err := zip.OpenReader(path)
	if errors.Is(err, zip.ErrFormat) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	for _, f := range z.File {
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok && voiceName().MatchString(name) {
			p.add(name, pack{path: path, entry: f.Name})
		}
	}
	return nil
}

// voice returns a pack, reading it the first time.
func (p *packs) voice(name string) (*kokoro.Voice, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.read[name]; v != nil {
		return v, nil
	}
	from, ok := p.from[name]
	if !ok {
		return nil, &VoiceError{name, ""}
	}
	values, err := from.values()
	if err != nil {
		return nil, fmt.Errorf("voice %q: %w", name, err)
	}
	v, err := kokoro.NewVoice(values, p.width)
	if err != nil {
		return nil, fmt.Errorf("voice %q: %w", name, err)
	}
	p.read[name] = v
	return v, nil
}

// values reads the numbers of a pack, whatever the file's format.
func (k pack) values() ([]float32, error) {
	data, err := k.bytes()
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(data, []byte("\x93NUMPY")):
		return npy(data)
	case torch.Is(data):
		return only(torch.Parse(data))
	case strings.HasSuffix(k.path, ".safetensors"):
		return only(safetensors.Parse(data))
	}
	return littleEndian(data)
}

func (k pack) bytes() ([]byte, error) {
	if k.entry == "" {
		return readAtMost(func() (io.ReadCloser, error) { return os.Open(k.path) })
	}
	z, err := zip.OpenReader(k.path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return readAtMost(func() (io.ReadCloser, error) { return z.Open(k.entry) })
}

func readAtMost(open func() (io.ReadCloser, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxPack+1))
	if err == nil && len(data) > maxPack {
		err = fmt.Errorf("%w: more than %d MB", weights.ErrUnsupported, maxPack>>20)
	}
	return data, err
}

// only returns the numbers of a set's one tensor.
func only(set *weights.Set, err error) ([]float32, error) {
	if err != nil {
		return nil, err
	}
	defer set.Close()
	for t := range set.All() {
		if set.Len() != 1 {
			break
		}
		return t.Floats()
	}
	return nil, fmt.Errorf("%w: a voice is one tensor; there are %d", weights.ErrFormat, set.Len())
}

func littleEndian(data []byte) ([]float32, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("%w: %d bytes are no floats", weights.ErrFormat, len(data))
	}
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
}

// npyHead finds what matters in the header of an array: the number type and
// whether rows are contiguous.
var npyHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'descr': *'([^']*)'.*'fortran_order': *(True|False)`)
})

// npy reads an array of little-endian float32. NumPy documents the format as
// numpy.lib.format.
func npy(data []byte) ([]float32, error) {
	if len(data) < 12 {
		return nil, fmt.Errorf("%w: an array cut short", weights.ErrFormat)
	}
	at, size := 10, int(binary.LittleEndian.Uint16(data[8:]))
	if data[6] >= 2 {
		n := binary.LittleEndian.Uint32(data[8:])
		if n > uint32(len(data)) {
			return nil, fmt.Errorf("%w: an array cut short", weights.ErrFormat)
		}
		at, size = 12, int(n)
	}
	if size > len(data)-at {
		return nil, fmt.Errorf("%w: an array cut short", weights.ErrFormat)
	}
	m := npyHead().FindSubmatch(data[at : at+size])
	if m == nil {
		return nil, fmt.Errorf("%w: an array without a header", weights.ErrFormat)
	}
	if string(m[1]) != "<f4" || string(m[2]) != "False" {
		return nil, fmt.Errorf("%w: an array of %s, fortran order %s; want <f4 in rows", weights.ErrUnsupported, m[1], m[2])
	}
	return littleEndian(data[at+size:])
}
