package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNotPulled marks files that no pull has written.
var ErrNotPulled = errors.New("was not pulled from the hub")

// Pulled describes the model at a path, as Model.Path spells it, when pulls have written
// every file of it. Otherwise the error is ErrNotPulled.
func (s Store) Pulled(path string) (Model, error) {
	root, err := s.root(false)
	if err != nil {
		return Model{}, ErrNotPulled
	}
	defer root.Close()
	have, list, err := s.at(root, path)
	if err != nil {
		return Model{}, err
	}
	return s.model(have, Ref{Owner: strings.Split(have.name, "/")[0], Name: strings.Split(have.name, "/")[1]}, list[0]), nil
}

// at finds the variants of a repository that are opened at a path: several where the
// folder is the model and holds it in several number types.
func (s Store) at(root *os.Root, open string) (*repo, []*variant, error) {
	base, err1 := filepath.Abs(s.Dir)
	open, err2 := filepath.Abs(open)
	rel, err := filepath.Rel(base, open)
	if err = errors.Join(err1, err2, err); err != nil || !filepath.IsLocal(rel) {
		return nil, nil, ErrNotPulled
	}
	seg := strings.Split(filepath.ToSlash(rel), "/")
	if len(seg) < 2 || !validName(seg[0]) || !validName(seg[1]) {
		return nil, nil, ErrNotPulled
	}
	r := Ref{Owner: seg[0], Name: seg[1]}
	have, err := scan(root, r.Repo())
	if err != nil {
		return nil, nil, ErrNotPulled
	}
	dir := filepath.Join(base, seg[0], seg[1])
	list := slices.DeleteFunc(variants(have.files), func(v *variant) bool {
		p, _, _ := v.place(dir, r)
		return p != open
	})
	for _, v := range list {
		if _, ok := have.record.model(v.files); !ok {
			return nil, nil, ErrNotPulled
		}
	}
	if len(list) == 0 {
		return nil, nil, ErrNotPulled
	}
	return have, list, nil
}

// RemovePulled deletes the model that Pulled describes, and no file that no pull has
// written. What models share stays as long as one of them does, and so does what has
// arrived of a pull that has not ended. It fails with ErrBusy while the repository is being
// pulled.
func (s Store) RemovePulled(open string) (Removal, error) {
	root, err := s.root(false)
	if err != nil {
		return Removal{}, ErrNotPulled
	}
	defer root.Close()
	m, err := s.Pulled(open)
	if err != nil {
		return Removal{}, err
	}
	return s.remove(root, m.Ref.Repo(), func() (Removal, *repo, error) {
		have, list, err := s.at(root, open)
		if err != nil {
			return Removal{}, nil, err
		}
		out, err := have.without(m.Ref, list, false)
		if err != nil {
			return out, nil, err
		}
		out.Files = slices.DeleteFunc(out.Files, func(f string) bool {
			in := strings.TrimPrefix(f, have.name+"/")
			if _, known := have.record.Files[in]; known || reserved(path.Base(f)) {
				return false
			}
			if st := have.infos[in]; st != nil {
				out.Bytes -= st.Size()
			}
			return true
		})
		return out, have, nil
	})
}

// A Half is a pull that has not ended.
type Half struct {
	Ref        Ref   // what to pull to go on
	Have, Size int64 // bytes that are there, and of all
	Busy       bool  // the repository is locked: a pull is under way
}

// Halves lists the pulls that have not ended.
func (s Store) Halves() ([]Half, error) {
	root, err := s.root(false)
	if err != nil {
		if errors.Is(err, ErrNotHere) {
			return nil, nil
		}
		return nil, err
	}
	defer root.Close()
	var out []Half
	for _, owner := range folders(root, ".") {
		for _, name := range folders(root, owner) {
			if !validName(owner) || !validName(name) {
				continue
			}
			have, err := scan(root, path.Join(owner, name))
			if err != nil {
				return nil, err
			}
			out = append(out, have.halves(root)...)
		}
	}
	return out, nil
}

// halves are those of one repository: the pull that its record tells of, and files on their way
// that no pull has ended which came after it.
func (r *repo) halves(root *os.Root) (out []Half) {
	rec := r.record
	if ref, err := ParseRef(r.name + rec.Asked); rec.Pending != nil && err == nil {
		h := Half{Ref: ref, Size: rec.Size}
		for _, f := range rec.Pending {
			if validPath(f) {
				h.Have += arrived(root, path.Join(r.name, f))
			}
		}
		out = append(out, h)
	}
	for _, f := range r.partly() {
		if ref, err := ParseRef(r.name + "/" + f); err == nil && !slices.Contains(rec.Pending, f) {
			s, _ := readSpans(root, path.Join(r.name, f)) // without a record nothing of it is of use
			out = append(out, Half{Ref: ref, Have: total(s.Done), Size: s.Size})
		}
	}
	for i := range out {
		h := &out[i]
		h.Have, h.Busy = min(max(h.Have, 0), h.Size), busy(root, r.name) // records may be damaged
	}
	return out
}

// partly lists the files of a repository that are on their way.
func (r *repo) partly() (out []string) {
	for _, j := range r.junk {
		if f, ok := strings.CutSuffix(j, partSuffix); ok && validPath(f) {
			out = append(out, f)
		}
	}
	return out
}

// arrived is how many bytes of a file are there, by what its records say.
func arrived(root *os.Root, name string) int64 {
	if st, err := root.Stat(name); err == nil {
		return st.Size()
	}
	s, err := readSpans(root, name)
	if err != nil {
		return 0
	}
	return total(s.Done)
}

// Discard deletes what the pulls of a repository that did not end have left, and returns
// how many bytes that were. It fails with ErrBusy while one is under way, and with
// ErrNotHere where there is nothing.
func (s Store) Discard(r Ref) (bytes int64, err error) {
	name := r.Repo()
	nothing := fmt.Errorf("%s: no pull was left unfinished: %w", name, ErrNotHere)
	root, err := s.root(false)
	if errors.Is(err, ErrNotHere) {
		return 0, nothing // without the name of the folder, which clients must not hear
	}
	if err != nil {
		return 0, err
	}
	defer root.Close()
	if have, err := scan(root, name); err != nil || have.record.Pending == nil && have.partly() == nil {
		return 0, nothing
	}
	l, err := acquire(root, name)
	if err != nil {
		return 0, err
	}
	bytes, files, err := discard(root, name)
	l.release()
	if err == nil {
		prune(root, name, files)
	}
	return bytes, err
}

// discard deletes under the repository's lock.
func discard(root *os.Root, name string) (bytes int64, files []string, err error) {
	have, err := scan(root, name)
	if err != nil {
		return 0, nil, err
	}
	rec := have.record
	whole := func(f string) bool {
		return slices.ContainsFunc(rec.Models, func(m pulled) bool { return slices.Contains(m.Files, f) })
	}
	for _, j := range have.junk {
		if strings.HasSuffix(j, partSuffix) || strings.HasSuffix(j, sideSuffix) {
			files = append(files, path.Join(name, j))
		}
	}
	for _, f := range rec.Pending {
		if validPath(f) && !whole(f) && have.infos[f] != nil {
			files = append(files, path.Join(name, f))
			delete(rec.Files, f)
		}
	}
	rec.Pending, rec.Asked, rec.Size = nil, "", 0
	for _, f := range files {
		if st, err := root.Stat(f); err == nil {
			bytes += st.Size()
		}
		if err := root.Remove(f); err != nil {
			return 0, nil, err
		}
	}
	if len(rec.Models) == 0 && len(rec.Files) == 0 {
		err := root.Remove(path.Join(name, recordName))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return bytes, append(files, path.Join(name, recordName)), err
	}
	return bytes, files, rec.write(root, name)
}
