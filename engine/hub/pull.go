package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// A State says how far a file of a pull is.
type State string

// The states of a file. A plan has the first four and Present, progress the last four.
const (
	Missing     State = "to download"
	Partial     State = "to finish"
	Cached      State = "in the Hugging Face cache"
	Downloading State = "downloading"
	Verifying   State = "verifying"
	Present     State = "there"
	Waiting     State = "waiting for another pull"
)

// Progress tells how far one file and the whole pull are, in bytes.
type Progress struct {
	File       string
	State      State // Downloading, Verifying, Present or Waiting
	Done, Size int64 // of the file, in this state
	AllDone    int64 // of everything that has to be fetched
	AllSize    int64
}

// A Plan is what a pull will do.
type Plan struct {
	Ref    Ref
	Commit string
	Kind   string
	Quant  string   // "" when the kind has none
	Chosen bool     // Quant was the client's choice
	Others []string // the repository's other quantisations of this kind
	Files  []PlanFile
	Bytes  int64 // of all files
	Fetch  int64 // of these, what has to come over the network

	v        *variant
	force    bool
	verified map[string]held // files no record told of, that were read and found right
}

// A PlanFile is one file of a plan.
type PlanFile struct {
	File
	State State
	Have  int64 // bytes that are on this machine

	cached string // where the cache has it
}

// Find returns a model that is on this machine: in the store, else in the
// Hugging Face cache.
func (c *Client) Find(r Ref) (Model, error) {
	m, err := c.o.Store.Find(r)
	if errors.Is(err, ErrNotHere) {
		if m, err := (cache)(c.o.Cache).find(r); err == nil {
			return m, nil
		}
	}
	return m, err
}

// Plan asks the hub what r means now and compares it with what is there. force
// plans to fetch everything again.
func (c *Client) Plan(ctx context.Context, r Ref, force bool) (*Plan, error) {
	if c.o.Offline != "" {
		return nil, fmt.Errorf("%s: %w: %s, so the hub is not asked", r, ErrOffline, c.o.Offline)
	}
	in, err := c.info(ctx, r)
	if err != nil {
		return nil, err
	}
	files := in.files()
	v, chosen, err := pick(r, files)
	if err != nil {
		return nil, err
	}
	p := &Plan{Ref: r, Commit: in.SHA, Kind: v.kind.name, Quant: v.label, Chosen: chosen, v: v, force: force, verified: map[string]held{}}
	for _, o := range v.kind.variants(files) {
		if o.label != v.label && o.complete() && !slices.Contains(p.Others, o.label) && o.label != "" {
			p.Others = append(p.Others, o.label)
		}
	}
	for _, f := range v.all() {
		if f, err = c.describe(ctx, r, in.SHA, f); err != nil {
			return nil, err
		}
		p.Files = append(p.Files, PlanFile{File: f, State: Missing})
		p.Bytes += f.Size // at most maxSiblings × maxSize, which int64 holds
	}
	root, err := c.o.Store.root(false)
	switch {
	case err == nil:
		defer root.Close()
	case !errors.Is(err, ErrNotHere):
		return nil, err
	}
	return p, c.compare(ctx, root, p)
}

// compare notes which files of p are there. root nil is an empty store.
func (c *Client) compare(ctx context.Context, root *os.Root, p *Plan) error {
	p.Fetch = 0
	var rec *record
	if root != nil {
		rec = readRecord(root, p.Ref.Repo())
		maps.Copy(rec.Files, p.verified)
	}
	for i := range p.Files {
		f := &p.Files[i]
		f.State, f.Have, f.cached = Missing, 0, ""
		if p.force {
			p.Fetch += f.Size
			continue
		}
		if root != nil {
			name := path.Join(p.Ref.Repo(), f.Path)
			ok, err := c.present(ctx, root, name, f.File, rec)
			if err != nil {
				return err
			}
			if ok {
				// Large files are not read twice: Fetch compares again.
				p.verified[f.Path] = rec.Files[f.Path]
				f.State, f.Have = Present, f.Size
				continue
			}
			if f.Have = total(readSide(root, name, f.File)); f.Have > 0 {
				f.State = Partial
			}
		}
		if f.cached = (cache)(c.o.Cache).file(p.Ref, p.Commit, f.File); f.cached != "" {
			f.State = Cached
			continue
		}
		p.Fetch += f.Size - f.Have
	}
	return nil
}

// present says whether the store has f as the hub describes it. A file that
// is not verified yet is read and hashed.
func (c *Client) present(ctx context.Context, root *os.Root, name string, f File, rec *record) (bool, error) {
	st, err := root.Stat(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	if !st.Mode().IsRegular() {
		return false, fmt.Errorf("%s is in the way: it is no file", name)
	}
	if st.Size() != f.Size {
		return false, nil
	}
	if rec.trusts(f, st) {
		return true, nil
	}
	r, err := root.Open(name)
	if err != nil {
		return false, err
	}
	defer r.Close()
	ok, err := verify(ctx, r, f, func(done int64) {
		if c.o.Progress != nil {
			c.o.Progress(Progress{File: f.Path, State: Verifying, Done: done, Size: f.Size})
		}
	})
	if ok {
		rec.Files[f.Path] = held{Size: f.Size, SHA256: f.SHA256, Blob: f.Blob, Time: st.ModTime()}
	}
	return ok, err
}

// Fetch does what p says, and continues where an earlier Fetch ended. It waits for
// another process that pulls into the same repository. A file
// appears under its name when it is whole and verified; until then its bytes
// are in FILE.part. Nothing else is left when it fails.
func (c *Client) Fetch(ctx context.Context, p *Plan) (Model, error) {
	root, err := c.o.Store.root(true)
	if err != nil {
		return Model{}, err
	}
	defer root.Close()
	repo := p.Ref.Repo()
	l, err := c.claim(ctx, root, p)
	if err != nil {
		return Model{}, err
	}
	err = c.fetch(ctx, root, p)
	if err != nil {
		tidy(root, repo)
	}
	l.release()
	if err != nil {
		var names []string
		for _, f := range p.Files {
			names = append(names, path.Join(repo, f.Path))
		}
		prune(root, repo, names)
		return Model{}, err
	}
	have, err := scan(root, repo)
	if err != nil {
		return Model{}, err
	}
	return c.o.Store.model(have, p.Ref, p.v), nil
}

// tidy removes the record of a repository that has nothing else.
func tidy(root *os.Root, repo string) {
	have, err := scan(root, repo)
	if err == nil && len(have.files) == 0 && !slices.ContainsFunc(have.junk, func(j string) bool { return strings.HasSuffix(j, partSuffix) }) {
		_ = root.Remove(path.Join(repo, recordName))
	}
}

// fetch is Fetch under the repository's lock.
func (c *Client) fetch(ctx context.Context, root *os.Root, p *Plan) error {
	// Another pull may have come first.
	if err := c.compare(ctx, root, p); err != nil {
		return err
	}
	if err := c.Room(p); err != nil {
		return err
	}
	repo := p.Ref.Repo()
	rec := readRecord(root, repo)
	names := make([]string, len(p.Files))
	replaced := func(name string) bool {
		return slices.ContainsFunc(p.Files, func(f PlanFile) bool { return f.Path == name && f.State != Present })
	}
	for i, f := range p.Files {
		names[i] = f.Path
	}
	// Models whose files are about to change are not whole until the end.
	rec.Models = slices.DeleteFunc(rec.Models, func(m pulled) bool { return slices.ContainsFunc(m.Files, replaced) })
	if p.Fetch > 0 || slices.ContainsFunc(names, replaced) {
		rec.Pending, rec.Asked, rec.Size = names, strings.TrimPrefix(p.Ref.String(), repo), p.Bytes
		if err := rec.write(root, repo); err != nil {
			return err
		}
	}
	if err := c.transfer(ctx, root, p); err != nil {
		return err
	}
	for _, f := range p.Files {
		st, err := root.Stat(path.Join(repo, f.Path))
		if err != nil {
			return err
		}
		rec.Files[f.Path] = held{Size: f.Size, SHA256: f.SHA256, Blob: f.Blob, Time: st.ModTime()}
	}
	rec.Pending, rec.Asked, rec.Size = nil, "", 0
	rec.add(pulled{Kind: p.Kind, Quant: p.Quant, Revision: p.Ref.revision(), Commit: p.Commit, Files: names})
	if err := rec.write(root, repo); err != nil {
		return err
	}
	return syncDir(root, repo)
}

// spare is what a pull leaves free on the disk.
const spare = 64 << 20

// A SpaceError says that a disk has no room for a pull. It wraps ErrSpace.
type SpaceError struct {
	Ref        Ref
	Need, Free int64
	Spare      int64 // of Free, what a pull leaves
	Dir        string
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%v: %s needs %d MB beside %d MB that stay free, and %s has %d MB left", ErrSpace, e.Ref, (e.Need+999_999)/1e6, e.Spare/1e6, e.Dir, e.Free/1e6)
}

// Unwrap returns ErrSpace.
func (e *SpaceError) Unwrap() error { return ErrSpace }

// Room compares what p will write with what the disk has left, and returns a *SpaceError
// where that is too little. Files that are replaced are still there when their successors
// are written.
func (c *Client) Room(p *Plan) error {
	var need int64
	for _, f := range p.Files {
		if f.State == Missing || f.State == Partial { // from the cache files are linked
			need += f.Size - f.Have
		}
	}
	free := c.o.Free(c.o.Store.Dir)
	if need == 0 || free < 0 || need <= free-spare {
		return nil
	}
	return &SpaceError{p.Ref, need, free, spare, c.o.Store.Dir}
}
