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

// filesOf looks at the files of a model. Those that cannot be looked at are left out: who opens
// the model says what is wrong with them.
func filesOf(n *catalog.Entry) []file {
	var out []file
	for _, path := range n.Files() {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			out = append(out, file{path, st})
		}
	}
	return out
}

// overwritten reports whether the same file has other bytes by now. What was renamed into its
// place is another file, and one that was removed is in memory still.
func (f file) overwritten() bool {
	st, err := os.Stat(f.path)
	return err == nil && os.SameFile(st, f.was) && (st.Size() != f.was.Size() || !st.ModTime().Equal(f.was.ModTime()))
}

// look has a model in memory go whose files were written over since: what is mapped of them is
// not what was loaded, and to read behind a new end ends the process. What is known of the
// model is read anew. Keeper.mu is held, but not while files are looked at.
func (k *Keeper) look(ctx context.Context, r *resident) {
	if r.model == nil || r.lost != nil {
		return
	}
	m, files := r.model, r.files
	k.mu.Unlock()
	i := slices.IndexFunc(files, file.overwritten)
	if i >= 0 {
		// An error comes again, from who opens the model.
		_ = k.o.Catalog.Fetched(r.Entry, r.About().Path)
	}
	k.mu.Lock()
	if i < 0 || r.model != m || r.lost != nil {
		return
	}
	k.log.WarnContext(ctx, "a file of a loaded model was written over; put others in its place by renaming them", "model", r.ID, "file", files[i].path)
	k.lose(r, "has files that were written over")
}
