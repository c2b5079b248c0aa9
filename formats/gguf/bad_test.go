package gguf_test

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"quern/formats/gguf"
)

func TestBad(t *testing.T) {
	const huge = 1 << 60
	one := head(1, 0)                                     // a tensor follows
	pair := func() raw { return head(0, 1).str("a.key") } // a value follows
	array := func() raw { return pair().u32(tArray) }     // element type and count follow
	big := strings.Repeat("k", 1<<16+1)                   // a name too long
	good := head(1, 0).tensor("t", gF32, 0, 8).pad(32).bytes(32)

	nested := pair().u32(tArray)
	for range 20 {
		nested = nested.u32(tArray).u64(1)
	}
	nested = nested.u32(tU8).u64(1).u8(7)

	for _, tt := range []struct {
		name        string
		data        raw
		unsupported bool
		want        string
	}{
		// The header.
		{"empty", nil, false, "the file is empty"},
		{"one byte", raw("G"), false, "no GGUF file"},
		{"other magic", raw("GGML").u32(3).u64(0).u64(0), false, "begins with 47 47 4d 4c"},
		{"lower case magic", raw("gguf").u32(3).u64(0).u64(0), false, "no GGUF file"},
		{"magic only", raw("GGUF"), false, "header is cut short"},
		{"no counts", raw("GGUF").u32(3), false, "header is cut short"},
		{"half a count", raw("GGUF").u32(3).u64(0).u32(0), false, "header is cut short"},
		{"version 0", raw("GGUF").u32(0).u64(0).u64(0), false, "version 0"},
		{"version 1", raw("GGUF").u32(1).u32(0).u32(0), true, "version 1"},
		{"version 4", raw("GGUF").u32(4).u64(0).u64(0), true, "version 4"},
		{"big-endian 3", raw("GGUF").then(0, 0, 0, 3).u64(0).u64(0), true, "big-endian"},
		{"big-endian 2", raw("GGUF").then(0, 0, 0, 2).u64(0).u64(0), true, "big-endian"},
		{"tensors beyond the file", head(huge, 0).bytes(80), false, "1152921504606846976 tensors cannot fit in 104 bytes"},
		{"tensors wrap", head(math.MaxUint64, 0).bytes(80), false, "tensors cannot fit"},
		{"pairs beyond the file", head(0, huge).bytes(80), false, "metadata pairs cannot fit"},
		{"one pair too many", head(0, 2).str("k").u32(tU8).u8(1), false, "metadata pairs cannot fit"},

		// Keys.
		{"empty key", head(0, 1).str("").u32(tU32).u32(1), false, "a key of 0 bytes"},
		{"long key", head(0, 1).str(big).u32(tU32).u32(1), false, "a key of 65537 bytes"},
		{"huge key", head(0, 1).u64(huge).bytes(40), false, "a key of 1152921504606846976 bytes"},
		{"key cut short", head(0, 1).u64(200).bytes(40), false, "a key is cut short"},
		{"no value", head(0, 1).str("a.key.of.fourteen.bytes"), false, "cut short"},
		{"key twice", head(0, 2).str("k").u32(tU8).u8(1).str("k").u32(tU32).u32(1), false, `"k" occurs twice`},

		// Values.
		{"unknown type", pair().u32(13).u64(0), false, "unknown metadata type 13"},
		{"huge type", pair().u32(math.MaxUint32).u64(0), false, "unknown metadata type 4294967295"},
		{"uint64 cut short", pair().u32(tU64).u32(1), false, `"a.key": malformed model file: the value is cut short`},
		{"bool of two", pair().u32(tBool).u8(2), false, "a bool of value 2"},
		{"huge string", pair().u32(tString).u64(huge).bytes(60), false, "the value is cut short"},
		{"string wraps", pair().u32(tString).u64(math.MaxUint64).bytes(60), false, "the value is cut short"},
		{"string one over", pair().u32(tString).u64(5).then('a', 'b', 'c', 'd'), false, "the value is cut short"},

		// Arrays.
		{"array without a count", array().u32(tU8).u32(0), false, "the value is cut short"},
		{"array of unknown type", array().u32(77).u64(0), false, "array of unknown metadata type 77"},
		{"huge array of bytes", array().u32(tU8).u64(huge).bytes(60), false, "1152921504606846976 elements does not fit in the 60 bytes left"},
		{"huge array of strings", array().u32(tString).u64(huge).bytes(60), false, "does not fit"},
		{"huge array of arrays", array().u32(tArray).u64(huge).bytes(60), false, "does not fit"},
		{"array count wraps", array().u32(tU64).u64(1 << 61).bytes(60), false, "does not fit"},
		{"array one over", array().u32(tU16).u64(3).bytes(5), false, "does not fit"},
		{"array string cut short", array().u32(tString).u64(2).str("x").u64(9).bytes(8), false, "the value is cut short"},
		{"array of bad bools", array().u32(tBool).u64(3).then(0, 1, 255), false, "a bool of value 255"},
		{"array above int64", array().u32(tU64).u64(1).u64(1 << 63), true, "above the range of int64"},
		{"array nested too deep", nested, false, "nested more than 8 deep"},
		{"inner array cut short", array().u32(tArray).u64(1).u32(tU32).u64(4).u32(1), false, "does not fit"},

		// Alignment.
		{"alignment zero", head(0, 1).str("general.alignment").u32(tU32).u32(0), false, "general.alignment is 0"},
		{"alignment four", head(0, 1).str("general.alignment").u32(tU32).u32(4), false, "general.alignment is 4"},
		{"alignment 48", head(0, 1).str("general.alignment").u32(tU32).u32(48), false, "general.alignment is 48"},
		{"alignment negative", head(0, 1).str("general.alignment").u32(tI32).u32(1 << 31), false, "general.alignment is -2147483648"},
		{"alignment huge", head(0, 1).str("general.alignment").u32(tU64).u64(1 << 62), false, "general.alignment is 4611686018427387904"},
		{"alignment a string", head(0, 1).str("general.alignment").u32(tString).str("32"), false, "general.alignment is 32"},

		// Tensors.
		{"empty tensor name", one.tensor("", gF32, 0, 8, 1).pad(32).bytes(32), false, "a tensor name of 0 bytes"},
		{"long tensor name", one.tensor(big, gF32, 0, 8).pad(32).bytes(32), false, "a tensor name of 65537 bytes"},
		{"tensor name cut short", one.u64(300).bytes(60), false, "a tensor name is cut short"},
		{"rank zero", one.tensor("t", gF32, 0).bytes(40), false, `"t" has 0 dimensions`},
		{"rank five", one.tensor("t", gF32, 0, 1, 1, 1, 1, 1).pad(32).bytes(32), false, `"t" has 5 dimensions`},
		{"rank huge", one.str("t").u32(math.MaxUint32).bytes(80), false, "4294967295 dimensions"},
		{"dimension zero", one.tensor("t", gF32, 0, 8, 0).pad(32).bytes(32), false, "a dimension of zero"},
		{"dimension huge", one.tensor("t", gF32, 0, math.MaxUint64).pad(32).bytes(32), false, "more elements than can be counted"},
		{"dimensions wrap", one.tensor("t", gF32, 0, 1<<32, 1<<32).pad(32).bytes(32), false, "more elements than can be counted"},
		{"dimensions wrap to one", one.tensor("t", gF32, 0, 1<<63, 2, 1).pad(32).bytes(32), false, "more elements than can be counted"},
		{"bytes wrap", one.tensor("t", gF32, 0, math.MaxInt/2).pad(32).bytes(32), false, "more bytes than can be counted"},
		{"entry cut short", one.str("tensor.name").u32(2).u64(1).u64(1), false, `"tensor.name" is cut short`},
		{"IQ2_XXS", one.tensor("x", gIQ2_XXS, 0, 256).pad(32).bytes(66), true, `tensor "x" is IQ2_XXS, which quern does not read`},
		{"removed type", one.tensor("x", 4, 0, 32).pad(32).bytes(66), true, `tensor "x" is Q4_2,`},
		{"type of the future", one.tensor("x", 999, 0, 32).pad(32).bytes(66), true, `tensor "x" is of unknown type 999,`},
		{"type all ones", one.tensor("x", math.MaxUint32, 0, 32).pad(32).bytes(66), true, "of unknown type 4294967295"},
		{"half a block", one.tensor("t", gQ8_0, 0, 48).pad(32).bytes(66), false, "rows of 48, but Q8_0 packs 32 at a time"},
		{"blocks across rows", one.tensor("t", gQ4_K, 0, 128, 2).pad(32).bytes(144), false, "rows of 128, but Q4_K packs 256 at a time"},
		{"data missing", one.tensor("t", gF32, 0, 8), false, `"t" runs past the end`},
		{"data one short", good[:len(good)-1], false, "runs past the end of the file's 95 bytes"},
		{"offset past the end", one.tensor("t", gF32, 64, 8).pad(32).bytes(64), false, "runs past the end"},
		{"offset huge", one.tensor("t", gF32, math.MaxUint64-31, 8).pad(32).bytes(32), false, "runs past the end"},
		{"offset misaligned", one.tensor("t", gF32, 16, 8).pad(32).bytes(64), false, "at offset 16, no multiple of 32"},
		{"offset misaligned for the file", head(1, 1).str("general.alignment").u32(tU32).u32(64).
			tensor("t", gF32, 32, 8).pad(64).bytes(64), false, "at offset 32, no multiple of 64"},
		{"same place", head(2, 0).tensor("a", gF32, 0, 8).tensor("b", gF32, 0, 8).pad(32).bytes(32), false, `"a" and "b" overlap`},
		{"overlap", head(2, 0).tensor("a", gF32, 32, 8).tensor("b", gF32, 0, 16).pad(32).bytes(64), false, `"b" and "a" overlap`},
		{"tensor twice", head(2, 0).tensor("a", gF32, 0, 8).tensor("a", gF32, 32, 8).pad(32).bytes(64), false, `"a" occurs twice`},

		// Split models.
		{"one of two", head(0, 3).split(0, 2, 0), false, "1 of the 2 files"},
		{"number beyond count", head(0, 3).split(2, 2, 0), false, "split.no is 2 of split.count 2"},
		{"number without count", head(0, 1).str("split.no").u32(tU16).then(1, 0), false, "split.no is 1 of split.count 0"},
		{"negative count", head(0, 1).str("split.count").u32(tI64).u64(math.MaxUint64), false, "split.count -1"},
		{"huge count", head(0, 1).str("split.count").u32(tI64).u64(1 << 40), false, "split.count 1099511627776"},
		{"count alone", head(0, 1).str("split.count").u32(tU16).then(2, 0), false, "needs all of"},
		{"count a string", head(0, 1).str("split.count").u32(tString).str("2"), false, "split.count is no integer"},
		{"split key twice", head(0, 2).str("split.no").u32(tU8).u8(0).str("split.no").u32(tU8).u8(0), false, `"split.no" occurs twice`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := gguf.Parse(tt.data)
			if err == nil {
				t.Fatalf("Parse = %d tensors, %d values; want an error with %q", set.Len(), set.Meta.Len(), tt.want)
			}
			if errors.Is(err, gguf.ErrUnsupported) != tt.unsupported || errors.Is(err, gguf.ErrFormat) == tt.unsupported {
				t.Errorf("Parse: %v; wraps the wrong sentinel, want unsupported: %v", err, tt.unsupported)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse: %v; want %q in it", err, tt.want)
			}
		})
	}
	if _, err := gguf.Parse(good); err != nil {
		t.Errorf("Parse of the good file: %v", err)
	}
}

// split appends the three keys of a split model.
func (r raw) split(no, count byte, tensors uint32) raw {
	return r.str("split.no").u32(tU16).then(no, 0).
		str("split.count").u32(tU16).then(count, 0).
		str("split.tensors.count").u32(tI32).u32(tensors)
}

// TestTruncated cuts a good file at every length that loses more than the
// padding at its end.
func TestTruncated(t *testing.T) {
	full := sample(t)
	full = full[:len(full)-16] // of the last tensor's 144 bytes and 16 of padding
	for n := range len(full) {
		if _, err := gguf.Parse(full[:n:n]); !errors.Is(err, gguf.ErrFormat) {
			t.Errorf("Parse of %d of %d bytes: %v, want ErrFormat", n, len(full), err)
		}
	}
}

// TestAllocation holds files that claim a lot to a little memory.
func TestAllocation(t *testing.T) {
	const huge = 1 << 60
	pair := head(0, 1).str("a.key")
	for _, tt := range []struct {
		name string
		data raw
	}{
		{"strings", pair.u32(tArray).u32(tString).u64(huge).bytes(40)},
		{"arrays", pair.u32(tArray).u32(tArray).u64(huge).bytes(40)},
		{"doubles", pair.u32(tArray).u32(tF64).u64(huge).bytes(40)},
		{"string", pair.u32(tString).u64(huge).bytes(40)},
		{"pairs", head(0, huge).bytes(40)},
		{"tensors", head(huge, 0).bytes(40)},
		{"elements", head(1, 0).tensor("t", gF32, 0, huge).bytes(40)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := allocated(func() { gguf.Parse(tt.data) }); got > 16<<10 {
				t.Errorf("a file of %d bytes took %d bytes of memory, want at most %d", len(tt.data), got, 16<<10)
			}
		})
	}

	// The worst files found: as much memory per byte as their parts can take.
	pairs := head(0, 40_000)
	for i := range 40_000 {
		pairs = pairs.str(string([]byte{1 + byte(i), 1 + byte(i>>8), 1})).u32(tU8).u8(200)
	}
	nested := pair.u32(tArray).u32(tArray).u64(50_000)
	for range 50_000 {
		nested = nested.u32(tU8).u64(0)
	}
	entries := head(20_000, 0)
	for i := range 20_000 {
		entries = entries.tensor(string([]byte{1 + byte(i), 1 + byte(i>>8)}), gF32, uint64(32*i), 1)
	}
	entries = entries.pad(32).bytes(32 * 20_000)
	for _, tt := range []struct {
		name string
		data raw
	}{
		{"small pairs", pairs},
		{"empty arrays", nested},
		{"bytes", pair.u32(tArray).u32(tU8).u64(500_000).bytes(500_000)},
		{"empty strings", pair.u32(tArray).u32(tString).u64(50_000).bytes(8 * 50_000)},
		{"small tensors", entries},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := allocated(func() {
				if _, err := gguf.Parse(tt.data); err != nil {
					t.Error(err)
				}
			})
			if limit := uint64(maxGrowth * len(tt.data)); got > limit {
				t.Errorf("a file of %d bytes took %d bytes of memory, want at most %d", len(tt.data), got, limit)
			}
			t.Logf("%.1f bytes of memory for each of the file", float64(got)/float64(len(tt.data)))
		})
	}
}

// maxGrowth bounds the memory a file takes, in multiples of its size. Go's
// maps are the worst of it: they double, and the halves before count too.
const maxGrowth = 32

// allocated returns the bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongNames: an error shows the beginning of a name, which may have 64 KiB.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("\x01", 60_000)
	for what, data := range map[string]raw{
		"key":    head(0, 1).str(name).u32(99).u64(0),
		"twice":  head(0, 2).str(name).u32(tU8).u8(1).str(name).u32(tU8).u8(1),
		"tensor": head(1, 0).tensor(name[:60], gF32, 0, 8).pad(32),
	} {
		_, err := gguf.Parse(data)
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v …", what, err)
		}
	}
}
