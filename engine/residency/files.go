package residency

import (
	"context"
	"io/fs"
	"os"
	"slices"

	"quern/engine/catalog"
)

// A file is one of a model's, as it was when a load began.
type file struct {
	path string
	was  fs.FileInfo
}

// filesOf looks at the files of a model. Those that cannot be read are left out: opening
// the model returns an error for them.
func filesOf(n *catalog.Entry) []file {
	var out []file
	for _, path := range n.Files() {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			out = append(out, file{path, st})
		}
	}
	return out
}

// overwritten reports whether the file was written to since. A file renamed into its place
// is another one, and a removed file stays mapped.
func (f file) overwritten() bool {
	st, err := os.Stat(f.path)
	return err == nil && os.SameFile(st, f.was) && (st.Size() != f.was.Size() || !st.ModTime().Equal(f.was.ModTime()))
}

// checkFiles discards a loaded model whose files were written over since: the mapped bytes are
// not those that were loaded, and reading past a new end of the file ends the process. The
// model is described anew. Keeper.mu is held, but not while files are looked at.
func (k *Keeper) checkFiles(ctx context.Context, r *resident) {
	if r.model == nil || r.discarded != nil {
		return
	}
	m, files := r.model, r.files
	k.mu.Unlock()
	i := slices.IndexFunc(files, file.overwritten)
	if i >= 0 {
		// The next load of the model returns the same error.
		_ = k.o.Catalog.Fetched(r.Entry, r.About().Path)
	}
	k.mu.Lock()
	if i < 0 || r.model != m || r.discarded != nil {
		return
	}
	k.log.WarnContext(ctx, "a file of a loaded model was written over; put others in its place by renaming them", "model", r.ID, "file", files[i].path)
	k.discard(r, "has files that were written over")
}
