package hub

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Store is a folder of models, OWNER/NAME/FILE. Everything is reached
// through an os.Root: nothing outside is written or removed, links or not.
type Store struct {
	Dir string
}

// A Model is one model on this machine.
type Model struct {
	Ref      Ref    // zero for a file that lies loose in the folder
	ID       string // as model folders list it: the path without extension
	Kind     string // "gguf", "safetensors", "onnx", "kokoro", "ggml" or "file"
	Quant    string
	Path     string // what to open: a file, or a folder
	Files    []string
	Size     int64
	Modified time.Time
	Revision string // as pulled; "" when it was not pulled
	Commit   string
	Cached   bool // it lies in the Hugging Face cache, not in the store
}

// root opens the folder; a missing one is ErrNotHere, unless create.
func (s Store) root(create bool) (*os.Root, error) {
	if create {
		if err := os.MkdirAll(s.Dir, 0o755); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no folder %s", ErrNotHere, s.Dir)
	}
	return root, err
}

// A repo is what the store has of one repository.
type repo struct {
	name   string                 // OWNER/NAME
	files  []File                 // whole ones; Size is of the disk
	infos  map[string]fs.FileInfo // of both
	junk   []string               // parts and records of the store
	record *record
}

// Bounds of a walk: a store is no attack, but it may be a home folder.
const (
	maxFiles = 100_000
	maxLevel = 4
)

// scan reads a repository's folder.
func scan(root *os.Root, name string) (*repo, error) {
	r := &repo{name: name, infos: map[string]fs.FileInfo{}, record: readRecord(root, name)}
	seen := 0
	err := fs.WalkDir(root.FS(), name, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxFiles {
			return fmt.Errorf("%s holds more than %d files", name, maxFiles)
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(p, name), "/")
		if d.IsDir() {
			if rel != "" && (strings.HasPrefix(d.Name(), ".") || strings.Count(rel, "/") >= maxLevel) {
				return fs.SkipDir
			}
			return nil
		}
		if reserved(d.Name()) {
			r.junk = append(r.junk, rel)
			if st, err := d.Info(); err == nil {
				r.infos[rel] = st
			}
			return nil
		}
		// A link counts as what it leads to; out of the store, as nothing.
		st, err := root.Stat(p)
		if err != nil || !st.Mode().IsRegular() || !validPath(rel) {
			return nil
		}
		r.infos[rel] = st
		r.files = append(r.files, File{Path: rel, Size: st.Size()})
		return nil
	})
	return r, err
}

// usable lists the files that may be served: not those of a pull that did not
// end, unless a model that arrived whole has them too.
func (r *repo) usable() []File {
	var out []File
	for _, f := range r.files {
		h, known := r.record.Files[f.Path]
		if known && h.Size != f.Size {
			continue // cut short, or written over
		}
		if slices.Contains(r.record.Pending, f.Path) && !slices.ContainsFunc(r.record.Models, func(p pulled) bool { return slices.Contains(p.Files, f.Path) }) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// model describes a variant in the store.
func (s Store) model(r *repo, ref Ref, v *variant) Model {
	m := Model{Ref: Ref{Owner: ref.Owner, Name: ref.Name}, Kind: v.kind.name, Quant: v.label}
	for _, f := range v.all() {
		m.Files = append(m.Files, path.Join(r.name, f.Path))
		st := r.infos[f.Path]
		if st == nil {
			continue
		}
		m.Size += st.Size()
		if st.ModTime().After(m.Modified) {
			m.Modified = st.ModTime()
		}
	}
	if p, ok := r.record.model(v.files); ok {
		m.Revision, m.Commit = p.Revision, p.Commit
	}
	m.Path, m.ID, m.Ref = v.place(filepath.Join(s.Dir, filepath.FromSlash(r.name)), m.Ref)
	if _, _, err := pick(m.Ref, r.usable()); errors.Is(err, ErrAmbiguous) && !v.kind.folder {
		m.Ref.Quant, m.Ref.File = "", v.files[0].Path
	}
	return m
}

// place says what to open of a variant below dir, its id, and its reference.
func (v *variant) place(dir string, r Ref) (open, id string, ref Ref) {
	first := v.files[0].Path
	ref = r
	if v.kind.folder {
		if v.kind.merge || v.kind.name == "kokoro" {
			ref.Quant = v.label
		}
		return dir, r.Repo(), ref
	}
	stem, _ := shardStem(first)
	switch {
	case v.label != "" && validQuant(v.label) && v.kind.name == "gguf":
		ref.Quant = v.label
	default:
		ref.File = first
	}
	return filepath.Join(dir, filepath.FromSlash(first)), r.Repo() + "/" + stem, ref
}

// Find returns the model r means, ErrNotHere when the store has not got it
// whole. A reference without a quantisation means the best there is on disk.
func (s Store) Find(r Ref) (Model, error) {
	root, err := s.root(false)
	if err != nil {
		return Model{}, err
	}
	defer root.Close()
	return s.find(root, r)
}

// Named returns what to open of the model that a reference means, "" when it is none or the
// store has not got that model whole.
func (s Store) Named(name string) (path string) {
	r, err := ParseRef(name)
	if err != nil {
		return ""
	}
	m, err := s.Find(r)
	if err != nil {
		return ""
	}
	return m.Path
}

func (s Store) find(root *os.Root, r Ref) (Model, error) {
	have, err := scan(root, r.Repo())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", r, ErrNotHere)
		}
		return Model{}, err
	}
	files := have.usable()
	if r.Revision != "" {
		// Only what was pulled of that revision.
		files = slices.DeleteFunc(files, func(f File) bool {
			return !slices.ContainsFunc(have.record.Models, func(p pulled) bool {
				return (p.Revision == r.Revision || len(r.Revision) >= 7 && strings.HasPrefix(p.Commit, r.Revision)) && slices.Contains(p.Files, f.Path)
			})
		})
	}
	v, _, err := pick(r, files)
	if err != nil {
		if errors.Is(err, ErrNoModel) {
			err = fmt.Errorf("%s: %w", r, ErrNotHere)
		}
		return Model{}, err
	}
	return s.model(have, r, v), nil
}

// List returns every whole model, sorted by id. Loose GGUF files count too.
func (s Store) List() ([]Model, error) {
	root, err := s.root(false)
	if err != nil {
		if errors.Is(err, ErrNotHere) {
			return nil, nil
		}
		return nil, err
	}
	defer root.Close()
	list := s.loose(root, ".")
	for _, owner := range folders(root, ".") {
		list = append(list, s.loose(root, owner)...)
		for _, name := range folders(root, owner) {
			r := Ref{Owner: owner, Name: name}
			if !validName(owner) || !validName(name) {
				continue
			}
			have, err := scan(root, r.Repo())
			if err != nil {
				return nil, err
			}
			for _, v := range once(variants(have.usable())) {
				if v.complete() {
					list = append(list, s.model(have, r, v))
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Model) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Quant, b.Quant))
	})
	return list, nil
}

// once drops variants whose weights an earlier one has.
func once(list []*variant) []*variant {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(v *variant) bool {
		drop := seen[v.files[0].Path]
		for _, f := range v.files {
			seen[f.Path] = true
		}
		return drop
	})
}

// folders lists the folders in dir that are not hidden.
func folders(root *os.Root, dir string) []string {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if st, err := root.Stat(path.Join(dir, e.Name())); err == nil && st.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// loose lists the GGUF files right in dir, each split model once.
func (s Store) loose(root *os.Root, dir string) []Model {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return nil
	}
	r := &repo{name: dir, infos: map[string]fs.FileInfo{}, record: &record{}}
	for _, e := range entries {
		if st, err := root.Stat(path.Join(dir, e.Name())); err == nil && st.Mode().IsRegular() && match("*.gguf", e.Name()) {
			r.files = append(r.files, File{Path: e.Name(), Size: st.Size()})
			r.infos[e.Name()] = st
		}
	}
	var out []Model
	for _, v := range kinds[0].variants(r.files) {
		if !v.complete() {
			continue
		}
		m := s.model(r, Ref{}, v)
		stem, _ := shardStem(v.files[0].Path)
		m.Ref, m.ID = Ref{}, path.Join(dir, stem)
		out = append(out, m)
	}
	return out
}

// A Removal is what Remove would delete.
type Removal struct {
	Files []string // below the store
	Bytes int64
	Left  []string // files in the folder that are no part of a model

	all bool // no model of the repository is left
}

// Removal lists what goes with r: one model, or with OWNER/NAME alone every
// model of the repository and what was left half pulled.
func (s Store) Removal(r Ref) (Removal, error) {
	root, err := s.root(false)
	if err != nil {
		return Removal{}, err
	}
	defer root.Close()
	out, _, err := s.removal(root, r)
	return out, err
}

func (s Store) removal(root *os.Root, r Ref) (out Removal, have *repo, err error) {
	have, err = scan(root, r.Repo())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", r, ErrNotHere)
		}
		return out, nil, err
	}
	goes := variants(have.files)
	if r.File != "" || r.Quant != "" {
		v, _, err := pick(r, have.files)
		if err != nil {
			return out, nil, fmt.Errorf("%w (%w)", err, ErrNotHere)
		}
		goes = []*variant{v}
	}
	out, err = have.without(r, goes, true)
	return out, have, err
}

// without lists what goes with some of a repository's models. What a pull that did not
// end has left goes with the last of them, where halves says so.
func (r *repo) without(ref Ref, goes []*variant, halves bool) (out Removal, err error) {
	all := variants(r.files)
	drop := map[string]bool{}
	for _, v := range goes {
		for _, f := range v.files {
			drop[f.Path] = true
		}
	}
	// What models share stays as long as one of them does.
	rest := slices.DeleteFunc(slices.Clone(all), func(v *variant) bool { return drop[v.files[0].Path] })
	stays := map[string]bool{}
	for _, v := range rest {
		for _, f := range v.beside {
			stays[f.Path] = true
		}
	}
	for _, v := range goes {
		for _, f := range v.beside {
			drop[f.Path] = drop[f.Path] || !stays[f.Path]
		}
	}
	out.all = len(rest) == 0 && (halves || r.record.Pending == nil)
	if out.all {
		for _, p := range r.record.Models {
			for _, f := range p.Files {
				drop[f] = validPath(f)
			}
		}
		for _, j := range r.junk {
			drop[j] = true
		}
	} else {
		for _, j := range r.junk {
			base := strings.TrimSuffix(strings.TrimSuffix(j, sideSuffix), partSuffix)
			drop[j] = drop[base]
		}
	}
	for _, list := range [][]string{paths(r.files), r.junk} {
		for _, p := range list {
			switch {
			case path.Base(p) == lockName: // goes with the lock
			case drop[p]:
				out.Files = append(out.Files, path.Join(r.name, p))
				if st := r.infos[p]; st != nil {
					out.Bytes += st.Size()
				}
			case out.all:
				out.Left = append(out.Left, path.Join(r.name, p))
			}
		}
	}
	if len(out.Files) == 0 {
		return out, fmt.Errorf("%s: %w", ref, ErrNotHere)
	}
	slices.Sort(out.Files)
	return out, nil
}

func paths(files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	return out
}

// Remove deletes what Removal lists, and folders that are empty then. It fails
// with ErrBusy while the repository is being pulled.
func (s Store) Remove(r Ref) (Removal, error) {
	root, err := s.root(false)
	if err != nil {
		return Removal{}, err
	}
	defer root.Close()
	return s.remove(root, r.Repo(), func() (Removal, *repo, error) { return s.removal(root, r) })
}

// remove deletes what find lists of a repository, which is asked again under its lock.
func (s Store) remove(root *os.Root, name string, find func() (Removal, *repo, error)) (Removal, error) {
	if _, _, err := find(); err != nil {
		return Removal{}, err
	}
	l, err := acquire(root, name)
	if err != nil {
		return Removal{}, err
	}
	out, have, err := find()
	if err == nil {
		err = have.remove(root, out)
	}
	l.release()
	if err != nil {
		return Removal{}, err
	}
	prune(root, name, out.Files)
	return out, nil
}

// remove deletes files under the repository's lock.
func (r *repo) remove(root *os.Root, out Removal) error {
	goes := func(f string) bool { return slices.Contains(out.Files, path.Join(r.name, f)) }
	// The record first: what it no longer names is not served half removed.
	for f := range r.record.Files {
		if goes(f) {
			delete(r.record.Files, f)
		}
	}
	r.record.Models = slices.DeleteFunc(r.record.Models, func(p pulled) bool { return slices.ContainsFunc(p.Files, goes) })
	if !out.all {
		if err := r.record.write(root, r.name); err != nil {
			return err
		}
	}
	for _, f := range out.Files {
		if err := root.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// prune removes the folders of files that are empty now, up to OWNER.
func prune(root *os.Root, repo string, files []string) {
	dirs := map[string]bool{}
	for _, f := range append(slices.Clone(files), path.Join(repo, recordName)) {
		for d := path.Dir(f); d != "." && d != "/"; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	// The deepest first. Those with something in them refuse, as they should.
	for _, d := range slices.SortedFunc(maps.Keys(dirs), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		_ = root.Remove(d)
	}
}
