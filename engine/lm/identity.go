package lm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"quern/engine/graph"
	"quern/engine/kv/disk"
	"quern/engine/rescue"
	"quern/formats/weights"
)

// StampFiles returns a text that changes when a path, or a file in it, is written or
// replaced; "" where the system does not support that. Sizes and times alone would not do: both
// can be set.
func StampFiles(path string) string {
	list := []string{path}
	if entries, err := os.ReadDir(path); err == nil {
		for _, e := range entries {
			list = append(list, filepath.Join(path, e.Name()))
		}
	}
	stamp := ""
	for _, name := range list {
		st, err := os.Stat(name)
		if err != nil {
			return ""
		}
		one := changes(st)
		if one == "" {
			return ""
		}
		stamp += fmt.Sprintf("%q %d %d %s\n", name, st.Size(), st.ModTime().UnixNano(), one)
	}
	return stamp
}

// Program hashes the running program, once: another build may add in another order.
var Program = sync.OnceValues(func() (string, error) {
	f, err := os.Open("/proc/self/exe") // also when the file has been replaced
	if err != nil {
		path, err := os.Executable()
		if err != nil {
			return "", err
		}
		if f, err = os.Open(path); err != nil {
			return "", err
		}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return string(h.Sum(nil)), nil
})

// Roots are the keys before the first blocks of the model's cache on a disk, without an adapter and
// with each, made of all that these depend on beside their tokens: the hash of its weights, the
// metadata, the context that ropes may be stretched to, the shape of the cache, the program and
// what numerics names.
func (m *File) Roots(ctx context.Context, weights []byte, program, numerics string, spec *graph.CacheSpec) ([]disk.Key, error) {
	shape := fmt.Sprintf("%d %v %d %v", spec.BlockSize, spec.Type, spec.State, spec.Layers)
	for _, n := range spec.Near {
		shape += fmt.Sprintf(" %v", n.Reach)
	}
	meta := sha256.New()
	for k, v := range m.Set.Meta.All() {
		fmt.Fprintf(meta, "%q %v\n", k, v)
	}
	base := []string{program, numerics, shape, fmt.Sprint(m.Context), string(meta.Sum(nil)), string(weights)}
	roots := []disk.Key{disk.Root(base...)}
	for i, a := range m.Adapters {
		sum, err := hashAll(ctx, a.Tensors)
		if err != nil {
			return nil, err
		}
		roots = append(roots, disk.Root(append(base[:len(base):len(base)], "adapter", m.effects(i), string(sum))...))
	}
	return roots, nil
}

// effects are the matrices that adapter i changes, its weights for them, and its scale.
func (m *File) effects(i int) string {
	var list []string
	all := m.changes()
	for _, of := range []map[*weights.Tensor][]graph.Change{all.Linear, all.Embed} {
		for w, changes := range of {
			if c := changes[i]; c.A != nil {
				list = append(list, fmt.Sprintf("%q %q %q %v %g\n", w.Name, c.A.Name, c.B.Name, len(of), c.Scale))
			}
		}
	}
	slices.Sort(list)
	return strings.Join(list, "")
}

// Hash is that of all weights: of all bytes, since a sample would not see a model that differs in
// a few. stamp says when the files were last changed: while it is as it was, and not "", the hash
// is remembered in s.
func (m *File) Hash(ctx context.Context, s *disk.Store, stamp, program string) ([]byte, error) {
	names := sha256.New()
	var all []*weights.Tensor
	for t := range m.Set.All() {
		all = append(all, t)
		fmt.Fprintf(names, "%q %v %v\n", t.Name, t.Type, t.Shape)
	}
	k := disk.Root("weights", stamp, program, string(names.Sum(nil)))
	if stamp != "" {
		if sum := s.Get(ctx, k, sha256.Size); sum != nil {
			return sum, nil
		}
	}
	sum, err := hashAll(ctx, all)
	if err == nil && stamp != "" {
		s.Put(k, sum)
	}
	return sum, err
}

// piece is how much is hashed at a time.
const piece = 8 << 20

// hashAll hashes tensors and their data: the hashes of pieces, in their order, made on all
// processors.
func hashAll(ctx context.Context, list []*weights.Tensor) ([]byte, error) {
	var pieces [][]byte
	h := sha256.New()
	for _, t := range list {
		fmt.Fprintf(h, "%q %v %v\n", t.Name, t.Type, t.Shape)
		for part := range t.Parts() {
			for len(part) > piece {
				pieces, part = append(pieces, part[:piece]), part[piece:]
			}
			pieces = append(pieces, part)
		}
	}
	sums := make([][sha256.Size]byte, len(pieces))
	workers := runtime.GOMAXPROCS(0)
	rescue.Spread(workers, func(w int) {
		for i := w; i < len(pieces) && ctx.Err() == nil; i += workers {
			sums[i] = sha256.Sum256(pieces[i])
		}
	})
	for i := range sums {
		fmt.Fprintln(h, len(pieces[i]))
		h.Write(sums[i][:])
	}
	return h.Sum(nil), ctx.Err()
}
