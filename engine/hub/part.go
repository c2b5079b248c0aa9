package hub

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"time"
)

// A file on its way is FILE.part, and FILE.part.json tells which of its bytes
// are there.
const (
	partSuffix = ".part"
	sideSuffix = ".part.json"
)

// saveEvery bounds how much of a download a lost machine forgets.
const saveEvery = 2 * time.Second

// A span is a range of bytes, the end not included.
type span [2]int64

// side is what FILE.part.json holds.
type side struct {
	Size int64  `json:"size"`
	Hash string `json:"hash"`
	Done []span `json:"done"`
}

// A part is a file on its way. Its methods may be called together.
type part struct {
	root *os.Root
	name string // of the finished file
	file File

	mu    sync.Mutex
	f     *os.File
	done  []span // sorted, apart from each other
	saved time.Time

	saving sync.Mutex // held by save, so that no older record replaces a newer one
}

func (f File) hash() string {
	if f.SHA256 != "" {
		return "sha256:" + f.SHA256
	}
	return "git:" + f.Blob
}

// readSide returns which bytes of file FILE.part has: none when the record is
// missing, damaged or of another file.
func readSide(root *os.Root, name string, file File) []span {
	st, err := root.Stat(name + partSuffix)
	if err != nil || !st.Mode().IsRegular() || st.Size() > file.Size {
		return nil
	}
	s, err := readSpans(root, name)
	if err != nil || s.Size != file.Size || s.Hash != file.hash() {
		return nil
	}
	last := int64(-1)
	for _, d := range s.Done {
		if d[0] <= last || d[1] <= d[0] || d[1] > st.Size() {
			return nil
		}
		last = d[1]
	}
	return s.Done
}

// readSpans reads the record of FILE.part as it is written.
func readSpans(root *os.Root, name string) (s side, err error) {
	b, err := readSmall(root, name+sideSuffix, 1<<20)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// openPart continues FILE.part where it can be continued, else starts it.
func openPart(root *os.Root, name string, file File, fresh bool) (*part, error) {
	p := &part{root: root, name: name, file: file, saved: time.Now()}
	if !fresh {
		p.done = readSide(root, name, file)
	}
	flag := os.O_RDWR | os.O_CREATE
	if p.done == nil {
		// A file at that place, which may be a link, is removed.
		if err := p.remove(); err != nil {
			return nil, err
		}
		flag |= os.O_EXCL
	}
	var err error
	if p.f, err = root.OpenFile(name+partSuffix, flag, 0o644); err != nil {
		return nil, err
	}
	return p, p.save()
}

// writeAt writes b at off and remembers it.
func (p *part) writeAt(b []byte, off int64) error {
	if _, err := p.f.WriteAt(b, off); err != nil {
		return err
	}
	p.mu.Lock()
	p.done = addSpan(p.done, span{off, off + int64(len(b))})
	due := time.Since(p.saved) >= saveEvery
	if due {
		p.saved = time.Now() // others go on writing meanwhile
	}
	p.mu.Unlock()
	if due {
		return p.save()
	}
	return nil
}

// save writes the side record. The bytes it speaks of reach the disk first.
func (p *part) save() error {
	p.saving.Lock()
	defer p.saving.Unlock()
	p.mu.Lock()
	s := side{Size: p.file.Size, Hash: p.file.hash(), Done: slices.Clone(p.done)}
	p.mu.Unlock()
	if err := p.f.Sync(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.saved = time.Now()
	return writeJSON(p.root, p.name+sideSuffix, s)
}

// missing lists what is not there in pieces of at most chunk bytes.
func (p *part) missing(chunk int64) []span {
	p.mu.Lock()
	defer p.mu.Unlock()
	return gaps(p.done, p.file.Size, chunk)
}

func (p *part) have() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return total(p.done)
}

// reset forgets everything that is there.
func (p *part) reset() error {
	p.mu.Lock()
	p.done = nil
	p.mu.Unlock()
	return errors.Join(p.f.Truncate(0), p.save())
}

// remove deletes FILE.part and its record.
func (p *part) remove() error {
	var errs error
	for _, suffix := range []string{sideSuffix, partSuffix} {
		if err := p.root.Remove(p.name + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

func total(list []span) int64 {
	var n int64
	for _, s := range list {
		n += s[1] - s[0]
	}
	return n
}

// addSpan adds s to a sorted list of spans that do not touch.
func addSpan(list []span, s span) []span {
	if s[0] >= s[1] {
		return list
	}
	from, _ := slices.BinarySearchFunc(list, s[0], func(e span, at int64) int {
		if e[1] < at {
			return -1
		}
		return 1
	})
	to := from
	for to < len(list) && list[to][0] <= s[1] {
		s[0], s[1] = min(s[0], list[to][0]), max(s[1], list[to][1])
		to++
	}
	return slices.Replace(list, from, to, s)
}

// gaps lists what list leaves of size bytes, cut to at most chunk.
func gaps(list []span, size, chunk int64) []span {
	var out []span
	at := int64(0)
	for _, s := range append(slices.Clone(list), span{size, size}) {
		for at < s[0] {
			end := min(s[0], at+chunk)
			out = append(out, span{at, end})
			at = end
		}
		at = s[1]
	}
	return out
}
