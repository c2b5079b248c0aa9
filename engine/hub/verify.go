package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// hasher returns the hash that the hub describes f with. Small files have
// git's: SHA-1 over "blob SIZE\0" and the content. It keeps mistakes out, not
// attackers; those who can change small files on the hub can change the hash.
func (f File) hasher() (h hash.Hash, want string) {
	if f.SHA256 != "" {
		return sha256.New(), f.SHA256
	}
	h = sha1.New()
	fmt.Fprintf(h, "blob %d\x00", f.Size)
	return h, f.Blob
}

// verify reads r and says whether it is f. An error is one of reading.
func verify(ctx context.Context, r io.Reader, f File, progress func(done int64)) (bool, error) {
	h, want := f.hasher()
	buf := make([]byte, 1<<20)
	var done int64
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n, err := r.Read(buf)
		h.Write(buf[:n])
		if done += int64(n); done > f.Size {
			return false, nil
		}
		if n > 0 {
			progress(done)
		}
		if err == io.EOF {
			return done == f.Size && hex.EncodeToString(h.Sum(nil)) == want, nil
		}
		if err != nil {
			return false, err
		}
	}
}
