package local

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/asr"
	"quern/formats/gguf"
)

// rescanEvery bounds how often folders are read: clients list models often.
const rescanEvery = 2 * time.Second

// A catalog is every model there is: configured ones, those of folders, and the
// built-in ones. Its list is replaced as a whole, so no reader waits for a disk.
type catalog struct {
	fixed     []*entry // configured, in order
	folders   []*folder
	builtin   *entry
	voice     *entry // built in
	always    bool   // list what is built in beside models of one's own
	defaulted engine.ModelOptions
	log       *slog.Logger

	current atomic.Pointer[[]*entry]
	scanned atomic.Int64 // when the last scan ended, Unix nanoseconds
	mu      sync.Mutex   // held by a scan; guards folders' findings
}

// list returns every entry: configured ones first, then folders, then what is
// built in. Of two with one id the first counts. The list is not to be changed.
func (c *catalog) list() []*entry {
	if l := c.current.Load(); l != nil {
		return *l
	}
	return nil
}

// stale reports whether folders may hold what list has not.
func (c *catalog) stale() bool {
	return c.current.Load() == nil || len(c.folders) > 0 && time.Now().UnixNano()-c.scanned.Load() >= int64(rescanEvery)
}

// refresh reads folders again where that is due. Requests that come meanwhile wait
// for the scan in progress and begin none of their own.
func (c *catalog) refresh() {
	if !c.stale() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale() {
		c.scan()
	}
}

// scan makes a new list. c.mu is held.
func (c *catalog) scan() {
	var list []*entry
	seen := map[string]bool{}
	add := func(n *entry) {
		if !seen[n.id] {
			seen[n.id] = true
			list = append(list, n)
		}
	}
	for _, n := range c.fixed {
		add(n)
	}
	for _, f := range c.folders {
		for _, n := range f.scan(c.defaulted, c.log) {
			add(n)
		}
	}
	if c.builtin != nil && (c.always || len(list) == 0) {
		add(c.builtin)
	}
	// A voice is always there.
	if c.voice != nil && (c.always || !slices.ContainsFunc(list, func(n *entry) bool { return n.head.kind == engine.KindSpeech })) {
		add(c.voice)
	}
	c.current.Store(&list)
	c.scanned.Store(time.Now().UnixNano())
}

// A folder is a directory of model files, with what its last scan found by path.
type folder struct {
	path  string
	found map[string]finding
}

// A finding is a model file, or a folder that is one model, as a scan saw it.
type finding struct {
	stamp string // sizes and times of its files: while it stays, the file is not read again
	n     *entry // nil: of no use
}

// stamp tells versions of a file, or of a folder that is one model, apart.
func stamp(path string, d fs.DirEntry) (string, error) {
	st, err := d.Info()
	if err != nil {
		return "", err
	}
	if !d.IsDir() {
		return fmt.Sprint(st.Size(), st.ModTime().UnixNano()), nil
	}
	var b strings.Builder
	entries, err := os.ReadDir(path)
	for _, x := range entries {
		if st, err := x.Info(); err == nil {
			fmt.Fprint(&b, x.Name(), " ", st.Size(), " ", st.ModTime().UnixNano(), "\n")
		}
	}
	return b.String(), err
}

// maxDepth bounds how deep below a model folder files are looked for:
// owner/repository/file and one more.
const maxDepth = 4

// scan lists the folder's models. A file is read when it is new or has changed, and
// one that cannot be served is logged then.
func (f *folder) scan(o engine.ModelOptions, log *slog.Logger) []*entry {
	found := map[string]finding{}
	err := filepath.WalkDir(f.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.path, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || strings.Count(filepath.ToSlash(rel), "/") >= maxDepth) {
				return fs.SkipDir
			}
			if !isModelDir(path) {
				return nil
			}
			if rel == "." {
				rel = filepath.Base(f.path)
			}
		} else if !isModelFile(path) {
			return nil
		}
		if _, no, _, ok := gguf.ShardName(path); ok && no > 1 {
			return nil
		}
		mark, err := stamp(path, d)
		if err != nil {
			return nil // it has gone meanwhile
		}
		if old, ok := f.found[path]; ok && old.stamp == mark {
			found[path] = old
			return nil
		}
		id := fileID(rel)
		if d.IsDir() {
			id = filepath.ToSlash(rel)
		}
		n, err := newEntry(id, path, o)
		if err != nil {
			log.Warn("model file skipped", "file", path, "err", err)
			n = nil
		}
		found[path] = finding{mark, n}
		return nil
	})
	if err != nil {
		log.Warn("model folder cannot be read", "folder", f.path, "err", err)
	}
	f.found = found
	var list []*entry
	for _, x := range found {
		if x.n != nil {
			list = append(list, x.n)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	return list
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

// isModelFile reports whether a file may be a model by itself.
func isModelFile(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gguf":
		return true
	case ".bin":
		return asr.IsModel(path) && !isDetector(path)
	}
	return false
}

// isModelDir reports whether a directory is one model of Hugging Face's form:
// config.json beside SafeTensors files or ONNX graphs, and no GGUF file.
func isModelDir(dir string) bool {
	if st, err := os.Stat(filepath.Join(dir, "config.json")); err != nil || !st.Mode().IsRegular() {
		return false
	}
	entries, err := os.ReadDir(dir)
	found := false
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".safetensors", ".pth":
			found = true
		case ".gguf":
			return false
		}
	}
	return err == nil && (found || isONNX(dir))
}
