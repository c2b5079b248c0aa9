package hub

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A cache is a folder that the hub's own tools write, read and never changed
// here: models--OWNER--NAME/{refs/REV, snapshots/COMMIT/FILE, blobs/HASH}.
type cache string

func (c cache) repo(r Ref) string {
	return filepath.Join(string(c), "models--"+r.Owner+"--"+r.Name)
}

// commit is the commit a revision of r stood at when it was last downloaded.
func (c cache) commit(r Ref) string {
	rev := r.revision()
	if isCommit(rev) {
		return rev
	}
	f, err := os.Open(filepath.Join(c.repo(r), "refs", filepath.FromSlash(rev)))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 128))
	if s := strings.TrimSpace(string(b)); err == nil && isCommit(s) {
		return s
	}
	return ""
}

func isCommit(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// find returns the model r means when a snapshot has it whole.
func (c cache) find(r Ref) (Model, error) {
	gone := fmt.Errorf("%s: %w", r, ErrNotHere)
	if c == "" {
		return Model{}, gone
	}
	commit := c.commit(r)
	if commit == "" {
		return Model{}, gone
	}
	dir := filepath.Join(c.repo(r), "snapshots", commit)
	infos := map[string]fs.FileInfo{}
	var files []File
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if strings.Count(rel, "/") >= maxLevel {
				return fs.SkipDir
			}
			return nil
		}
		if len(files) >= maxFiles || !validPath(rel) {
			return nil
		}
		// Snapshots are links to blobs. A blob is renamed into place when it is
		// whole, so one that is there is whole.
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			infos[rel] = st
			files = append(files, File{Path: rel, Size: st.Size()})
		}
		return nil
	})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = gone
		}
		return Model{}, err
	}
	v, _, err := pick(r, files)
	if err != nil {
		if errors.Is(err, ErrNoModel) {
			err = gone
		}
		return Model{}, err
	}
	m := Model{Kind: v.kind.name, Quant: v.label, Revision: r.revision(), Commit: commit, Cached: true}
	for _, f := range v.all() {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		m.Files = append(m.Files, p)
		m.Size += f.Size
		if t := infos[f.Path].ModTime(); t.After(m.Modified) {
			m.Modified = t
		}
	}
	m.Path, m.ID, m.Ref = v.place(dir, Ref{Owner: r.Owner, Name: r.Name})
	return m, nil
}

// file returns where the cache has f of the given commit, "" when nowhere.
func (c cache) file(r Ref, commit string, f File) string {
	if c == "" {
		return ""
	}
	for _, p := range []string{
		filepath.Join(c.repo(r), "blobs", f.SHA256+f.Blob),
		filepath.Join(c.repo(r), "snapshots", commit, filepath.FromSlash(f.Path)),
	} {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Size() == f.Size {
			if real, err := filepath.EvalSymlinks(p); err == nil {
				return real
			}
		}
	}
	return ""
}
