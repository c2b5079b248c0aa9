package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	slashed "path"
	"path/filepath"
	"slices"
	"strings"

	"quern/formats/gguf"
)

// A folder is a directory of model files, with the findings of its last scan by path.
type folder struct {
	path  string
	place place
	found map[string]finding
}

// A finding is a model file, or a folder that is one model, as a scan saw it.
type finding struct {
	stamp string // sizes and times of its files: while it stays, the file is not read again
	n     *Entry // nil: not a model that can be served
}

// maxDepth bounds how deep below a model folder files are looked for:
// owner/repository/file and one more.
const maxDepth = 4

// markers are the files one of which a folder that is a model has: Hugging Face's
// description, or the tokens of a recogniser.
var markers = []string{"config.json", "tokens.txt", "vocab.txt"}

// scan lists the folder's models. Each directory is read once. Files that may be models
// are read when they are new or have changed; one that cannot be served is logged
// then.
func (f *folder) scan(c *Catalog) []*Entry {
	found := map[string]finding{}
	if err := f.walk(c, f.path, "", found); err != nil && !(f.place == pulled && errors.Is(err, fs.ErrNotExist)) {
		c.o.Log.Warn("model folder cannot be read", "folder", f.path, "err", err)
	}
	f.found = found
	var list []*Entry
	for _, x := range found {
		if x.n != nil {
			list = append(list, x.n)
		}
	}
	slices.SortFunc(list, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// walk adds the findings of a directory, rel below the folder's with slashes, to found.
func (f *folder) walk(c *Catalog, dir, rel string, found map[string]finding) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	// Opening a named pipe blocks until a process opens it for writing.
	entries = slices.DeleteFunc(entries, func(d fs.DirEntry) bool {
		mode := d.Type()
		if mode&fs.ModeSymlink != 0 {
			st, err := os.Stat(filepath.Join(dir, d.Name()))
			if err != nil {
				return true
			}
			mode = st.Mode()
		}
		return !mode.IsRegular() && !mode.IsDir()
	})
	look := func(path, mark string, describe func() (*Entry, error)) {
		old, ok := f.found[path]
		if ok && old.stamp == mark {
			found[path] = old
			return
		}
		n, err := describe()
		if n != nil {
			n.place = f.place
		}
		if err != nil {
			c.o.Log.Warn("model file skipped", "file", path, "err", err)
			n = nil
		}
		found[path] = finding{mark, n}
	}
	if slices.ContainsFunc(entries, func(d fs.DirEntry) bool { return slices.Contains(markers, d.Name()) && !d.IsDir() }) {
		id := cmp.Or(rel, filepath.Base(f.path))
		look(dir, stamp(dir, entries...), func() (*Entry, error) {
			if !c.o.Kinds.IsFolder(dir, entries) {
				return nil, nil
			}
			return c.describe(id, dir, c.o.Defaulted)
		})
	}
	for _, d := range entries {
		if strings.HasPrefix(d.Name(), ".") {
			continue
		}
		path, below := filepath.Join(dir, d.Name()), slashed.Join(rel, d.Name())
		if d.IsDir() {
			if strings.Count(below, "/") >= maxDepth {
				continue
			}
			if err := f.walk(c, path, below, found); err != nil {
				c.o.Log.Warn("model folder cannot be read", "folder", path, "err", err)
			}
			continue
		}
		switch strings.ToLower(filepath.Ext(path)) {
		case ".gguf", ".bin":
		default:
			continue
		}
		if _, no, _, ok := gguf.ShardName(path); ok && no > 1 {
			continue
		}
		look(path, stamp(dir, d), func() (*Entry, error) {
			if !c.o.Kinds.IsFile(path) {
				return nil, nil
			}
			return c.describe(fileID(below), path, c.o.Defaulted)
		})
	}
	return nil
}

// stamp is a text that changes with the files of a directory. Links are followed.
func stamp(dir string, entries ...fs.DirEntry) string {
	var b strings.Builder
	for _, d := range entries {
		st, err := d.Info()
		if err == nil && st.Mode()&fs.ModeSymlink != 0 {
			st, err = os.Stat(filepath.Join(dir, d.Name()))
		}
		if err == nil {
			fmt.Fprint(&b, d.Name(), " ", st.Size(), " ", st.ModTime().UnixNano(), "\n")
		}
	}
	return b.String()
}

// fileID makes a model id of a file's path below its folder: without extension
// and shard number, with slashes.
func fileID(rel string) string {
	rel = filepath.ToSlash(rel)
	if prefix, _, _, ok := gguf.ShardName(rel); ok {
		return prefix
	}
	return strings.TrimSuffix(rel, filepath.Ext(rel))
}
