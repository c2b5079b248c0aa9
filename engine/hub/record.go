package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"time"
)

// recordName is the file in a repository's folder that tells what was pulled.
const recordName = ".hub.json"

// maxRecord bounds the records that are read back from disk.
const maxRecord = 8 << 20

// A record is what the store knows about a repository beside its files.
type record struct {
	Models []pulled        `json:"models"`
	Files  map[string]held `json:"files"`
	// Pending lists the files of a pull that has not ended. Some may be there
	// already, and look like a model that is not whole.
	Pending []string `json:"pending,omitempty"`
	Asked   string   `json:"pending_ref,omitempty"`  // what that pull was asked for, without its repository
	Size    int64    `json:"pending_size,omitempty"` // of Pending, when whole
}

// pulled is one model that arrived whole.
type pulled struct {
	Kind     string   `json:"kind"`
	Quant    string   `json:"quant,omitempty"`
	Revision string   `json:"revision"` // as asked for
	Commit   string   `json:"commit"`
	Files    []string `json:"files"`
}

// held is a file whose hash was checked. It is trusted as long as size and time
// stay the same.
type held struct {
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256,omitempty"`
	Blob   string    `json:"blob,omitempty"`
	Time   time.Time `json:"time"`
}

// readRecord reads a repository's record. One that is not there, or is no
// record, is an empty one: then files are checked again when it matters.
func readRecord(root *os.Root, repo string) *record {
	r := &record{}
	b, err := readSmall(root, path.Join(repo, recordName), maxRecord)
	if err != nil || json.Unmarshal(b, r) != nil {
		r = &record{}
	}
	if r.Files == nil {
		r.Files = map[string]held{}
	}
	return r
}

func (r *record) write(root *os.Root, repo string) error {
	return writeJSON(root, path.Join(repo, recordName), r)
}

// add notes a model, in place of an older one of the same files.
func (r *record) add(p pulled) {
	r.Models = slices.DeleteFunc(r.Models, func(o pulled) bool {
		return slices.ContainsFunc(o.Files, func(f string) bool { return !shared(f) && slices.Contains(p.Files, f) })
	})
	r.Models = append(r.Models, p)
}

// shared says whether models of one repository may have a file in common.
func shared(p string) bool {
	switch path.Ext(p) {
	case ".json", ".txt", ".jinja", ".model":
		return true
	}
	return path.Dir(p) == "voices"
}

// model returns the entry that has every one of files.
func (r *record) model(files []File) (pulled, bool) {
	for _, p := range r.Models {
		all := true
		for _, f := range files {
			all = all && slices.Contains(p.Files, f.Path)
		}
		if all {
			return p, true
		}
	}
	return pulled{}, false
}

// trusts says whether file, which st describes, was verified as it is.
func (r *record) trusts(file File, st fs.FileInfo) bool {
	h, ok := r.Files[file.Path]
	return ok && h.Size == st.Size() && h.Time.Equal(st.ModTime()) &&
		(file.SHA256 != "" && h.SHA256 == file.SHA256 || file.Blob != "" && h.Blob == file.Blob)
}

func readSmall(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return b, err
}

// writeJSON replaces a small file in one step: after a crash either the old or
// the new one is there.
func writeJSON(root *os.Root, name string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	tmp := name + partSuffix
	f, err := root.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return root.Rename(tmp, name)
}

// syncDir makes a rename in dir last. Windows cannot, and needs it not.
func syncDir(root *os.Root, dir string) error {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		return nil
	}
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
