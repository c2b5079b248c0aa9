package gguf_test

import (
	"bytes"
	"errors"
	"testing"

	"quern/formats/gguf"
	"quern/formats/weights"
)

// FuzzParse reads any bytes as a model, everything in it, and writes what was
// accepted anew. Both files must say the same.
func FuzzParse(f *testing.F) {
	f.Add(sample(f))
	f.Add(parts(f)[1])
	f.Add([]byte(head(0, 1).str("k").u32(tArray).u32(tArray).u64(2).u32(tString).u64(1).str("x").u32(tU8).u64(0)))
	f.Add([]byte(head(2, 1).str("general.alignment").u32(tU32).u32(8).
		tensor("a", gF32, 0, 2).tensor("b", gQ8_0, 8, 32).pad(8).bytes(8 + 34)))
	f.Add([]byte(head(1, 0).tensor("t", gQ4_K, 0, 256, 1, 1, 1).pad(32).bytes(144)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var set *weights.Set
		var err error
		// Some room is left for what the fuzzing engine allocates meanwhile.
		if n := allocated(func() { set, err = gguf.Parse(data) }); n > uint64(maxGrowth*len(data))+1<<20 {
			t.Errorf("%d bytes took %d bytes of memory", len(data), n)
		}
		if err != nil {
			if !errors.Is(err, gguf.ErrFormat) && !errors.Is(err, gguf.ErrUnsupported) {
				t.Errorf("Parse: %v; wraps no sentinel", err)
			}
			return
		}
		var streams []gguf.Stream
		for tn := range set.All() {
			if len(tn.Name) > 63 {
				return // more than Write allows
			}
			if n := sizeOf(t, tn.Type, tn.Elems()); n != len(tn.Data) {
				t.Errorf("%s: %d bytes, want %d", tn.Name, len(tn.Data), n)
			}
			streams = append(streams, gguf.StreamOf(tn))
		}
		if n, ok := set.Meta.Int("general.alignment"); ok && n > 4096 {
			return // sound, but the padding would fill the memory
		}
		first := write(t, &set.Meta, streams...)
		again, err := gguf.Parse(first)
		if err != nil {
			t.Fatalf("Parse of what Write made: %v", err)
		}
		// Floats may be NaN, which nothing equals; their bytes do.
		if second := rewrite(t, again); !bytes.Equal(first, second) {
			t.Error("a file written twice differs")
		}
		if again.Len() != set.Len() || again.Bytes() != set.Bytes() || again.Meta.Len() != set.Meta.Len() {
			t.Errorf("%d tensors of %d bytes, %d values; want %d, %d, %d", again.Len(), again.Bytes(), again.Meta.Len(), set.Len(), set.Bytes(), set.Meta.Len())
		}
	})
}
