package gguf

import (
	"fmt"
	"os"
	"path/filepath"

	"quern/formats/weights"
)

// A split holds what the split.* keys of one file say. A whole model has a
// count of zero or one.
type split struct {
	no, count, tensors int64
	seen               [3]bool
}

var splitKeys = [3]string{"split.no", "split.count", "split.tensors.count"}

// maxSplit is the number of files a model can have: split.count is a uint16.
const maxSplit = 1<<16 - 1

// set takes the value if key is one of the split keys.
func (s *split) set(key string, v weights.Value) (taken bool, err error) {
	for i, k := range splitKeys {
		if key != k {
			continue
		}
		if s.seen[i] {
			return true, fmt.Errorf("%w: key %q occurs twice", ErrFormat, key)
		}
		n, ok := v.(int64)
		if !ok {
			return true, fmt.Errorf("%w: %s is no integer", ErrFormat, key)
		}
		*[3]*int64{&s.no, &s.count, &s.tensors}[i] = n
		s.seen[i] = true
		return true, nil
	}
	return false, nil
}

// check holds a file's own split keys against each other.
func (s *split) check() error {
	if s.count < 0 || s.count > maxSplit || s.no < 0 || s.no > 0 && s.no >= s.count {
		return fmt.Errorf("%w: split.no is %d of split.count %d", ErrFormat, s.no, s.count)
	}
	if s.count > 1 && s.seen != [3]bool{true, true, true} {
		return fmt.Errorf("%w: a split model needs all of %v", ErrFormat, splitKeys)
	}
	return nil
}

// join makes one Set of the files of a model, which are in order.
func join(files []*file) (*weights.Set, error) {
	want := max(1, files[0].split.count)
	if int64(len(files)) != want {
		return nil, fmt.Errorf("%w: %d of the %d files of a split model", ErrFormat, len(files), want)
	}
	set := &weights.Set{Source: weights.GGUF, Meta: files[0].meta}
	for i, f := range files {
		if want > 1 && (f.split.no != int64(i) || f.split.count != want || f.split.tensors != files[0].split.tensors) {
			return nil, fmt.Errorf("%w: file %d of %d says it is file %d of %d, of %d tensors in all, and the first says %d",
				ErrFormat, i+1, want, f.split.no+1, f.split.count, f.split.tensors, files[0].split.tensors)
		}
		for _, t := range f.tensors {
			if err := set.Add(t); err != nil {
				return nil, fmt.Errorf("%w: %v", ErrFormat, err)
			}
		}
	}
	if want > 1 && int64(set.Len()) != files[0].split.tensors {
		return nil, fmt.Errorf("%w: the files hold %d tensors, split.tensors.count is %d", ErrFormat, set.Len(), files[0].split.tensors)
	}
	return set, nil
}

// Open maps a model file. Given any file of a split model
// ("name-00002-of-00003.gguf") it opens them all. Tensor data aliases the
// mappings until the Set is closed; see weights.Mapping for what must not
// happen to the files meanwhile.
func Open(path string) (*weights.Set, error) {
	return weights.Mapped(func(maps *weights.Mappings) (*weights.Set, error) { return open(path, maps) })
}

// open reads the model that the file at path belongs to.
func open(path string, maps *weights.Mappings) (*weights.Set, error) {
	data, err := maps.Map(path)
	if err != nil {
		return nil, err
	}
	first, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files := []*file{first}
	if n := first.split.count; n > 1 {
		prefix, ok := shardPrefix(path, first.split.no+1, n)
		if !ok {
			return nil, fmt.Errorf("%s: %w: this is file %d of a model split into %d; its siblings cannot be found unless its name ends in %q",
				path, ErrFormat, first.split.no+1, n, shardSuffix(first.split.no+1, n))
		}
		files = files[:0]
		for i := range n {
			if i == first.split.no {
				files = append(files, first)
				continue
			}
			sibling := prefix + shardSuffix(i+1, n)
			data, err := maps.Map(sibling)
			if err != nil {
				return nil, fmt.Errorf("%s: file %d of the split model: %w", path, i+1, err)
			}
			f, err := parse(data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sibling, err)
			}
			files = append(files, f)
		}
	}
	set, err := join(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return set, nil
}

// shardSuffix returns how the name of file no (from one) of count ends.
func shardSuffix(no, count int64) string {
	return fmt.Sprintf("-%05d-of-%05d.gguf", no, count)
}

// shardPrefix returns path without the suffix of file no of count. ok is false
// when it ends otherwise.
func shardPrefix(path string, no, count int64) (prefix string, ok bool) {
	suffix := shardSuffix(no, count)
	n := len(path) - len(suffix)
	if n < 0 || path[n:] != suffix || n == 0 || filepath.Base(path) == suffix {
		return "", false
	}
	return path[:n], true
}

// ShardName takes the name of a file of a split model apart: its number, from
// one, and how many there are. ok is false for any other name.
func ShardName(path string) (prefix string, no, count int, ok bool) {
	const shape = "-00001-of-00003.gguf"
	n := len(path) - len(shape)
	if n < 0 {
		return "", 0, 0, false
	}
	if _, err := fmt.Sscanf(path[n:], "-%05d-of-%05d.gguf", &no, &count); err != nil {
		return "", 0, 0, false
	}
	prefix, ok = shardPrefix(path, int64(no), int64(count))
	return prefix, no, count, ok && no >= 1 && no <= count
}

// Shards lists the files of the model that the file of a path belongs to, up to the first that
// is not there: those of a split model, or the one.
func Shards(path string) []string {
	prefix, _, count, ok := ShardName(path)
	if !ok {
		return []string{path}
	}
	var out []string
	for no := range int64(count) {
		shard := prefix + shardSuffix(no+1, int64(count))
		if _, err := os.Stat(shard); err != nil {
			break
		}
		out = append(out, shard)
	}
	return out
}
