package quant_test

import (
	"math"
	"slices"
	"testing"

	"quern/kernels/quant"
)

// sizes are the facts of the formats, apart from the table they check.
var sizes = []struct {
	typ          quant.Type
	name         string
	ggml         uint32
	block, bytes int
	with         quant.Type
}{
	{quant.F32, "F32", 0, 1, 4, quant.F32},
	{quant.F16, "F16", 1, 1, 2, quant.F32},
	{quant.BF16, "BF16", 30, 1, 2, quant.F32},
	{quant.Q4_0, "Q4_0", 2, 32, 18, quant.ActQ8_32},
	{quant.Q4_1, "Q4_1", 3, 32, 20, quant.ActQ8_32},
	{quant.Q5_0, "Q5_0", 6, 32, 22, quant.ActQ8_32},
	{quant.Q5_1, "Q5_1", 7, 32, 24, quant.ActQ8_32},
	{quant.Q8_0, "Q8_0", 8, 32, 34, quant.ActQ8_32},
	{quant.Q2_K, "Q2_K", 10, 256, 84, quant.ActQ8_256},
	{quant.Q3_K, "Q3_K", 11, 256, 110, quant.ActQ8_256},
	{quant.Q4_K, "Q4_K", 12, 256, 144, quant.ActQ8_256},
	{quant.Q5_K, "Q5_K", 13, 256, 176, quant.ActQ8_256},
	{quant.Q6_K, "Q6_K", 14, 256, 210, quant.ActQ8_256},
	{quant.Q8_K, "Q8_K", 15, 256, 292, quant.ActQ8_256},
	{quant.IQ4_NL, "IQ4_NL", 20, 32, 18, quant.ActQ8_32},
	{quant.IQ4_XS, "IQ4_XS", 23, 256, 136, quant.ActQ8_256},
	{quant.MXFP4, "MXFP4", 39, 32, 17, quant.ActQ8_32},
}

func TestLayouts(t *testing.T) {
	all := slices.Collect(quant.All())
	if len(all) != len(sizes) {
		t.Errorf("All yields %d types, want %d", len(all), len(sizes))
	}
	for i, tt := range sizes {
		if i < len(all) && all[i] != tt.typ {
			t.Errorf("type %d is %v, want %v", i, all[i], tt.typ)
		}
		l := tt.typ.Layout()
		if l.Name != tt.name || l.GGML != tt.ggml || l.Block != tt.block || l.Bytes != tt.bytes || l.With != tt.with {
			t.Errorf("%v is %q, %d, %d, %d, %v", tt.typ, l.Name, l.GGML, l.Block, l.Bytes, l.With)
		}
		if got, ok := byName(tt.name); got != tt.typ || !ok {
			t.Errorf("byName(%q) = %v, %v", tt.name, got, ok)
		}
		if got, ok := quant.ByGGML(tt.ggml); got != tt.typ || !ok {
			t.Errorf("ByGGML(%d) = %v, %v", tt.ggml, got, ok)
		}
		if name := quant.UnsupportedName(tt.ggml); name != "" {
			t.Errorf("%v is also unsupported, as %s", tt.typ, name)
		}
	}
}

func TestUnknownTypes(t *testing.T) {
	for _, name := range []string{"", "ActQ8_32", "ActQ8_256", "q4_K", "IQ1_S", "Type(0)"} {
		if typ, ok := byName(name); ok {
			t.Errorf("byName(%q) = %v", name, typ)
		}
	}
	for _, tt := range []struct {
		ggml uint32
		want string
	}{
		{9, "Q8_1"}, {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
		{21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"}, {25, "I16"}, {26, "I32"}, {27, "I64"},
		{28, "F64"}, {29, "IQ1_M"}, {34, "TQ1_0"}, {35, "TQ2_0"}, {40, "NVFP4"},
		{43, ""}, {1 << 31, ""}, {quant.NoGGML, ""},
	} {
		if typ, ok := quant.ByGGML(tt.ggml); ok {
			t.Errorf("ByGGML(%d) = %v", tt.ggml, typ)
		}
		if got := quant.UnsupportedName(tt.ggml); got != tt.want {
			t.Errorf("UnsupportedName(%d) = %q, want %q", tt.ggml, got, tt.want)
		}
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		want int
		ok   bool
	}{
		{"empty", 0, 0, true},
		{"one block", 256, 144, true},
		{"many", 256 * 1000, 144 * 1000, true},
		{"half a block", 128, 0, false},
		{"negative", -256, 0, false},
		{"huge", math.MaxInt &^ 255, math.MaxInt / 256 * 144, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := quant.Q4_K.Size(tt.n)
			if got != tt.want || ok != tt.ok {
				t.Errorf("Size(%d) = %d, %v; want %d, %v", tt.n, got, ok, tt.want, tt.ok)
			}
		})
	}
	if got, ok := quant.F32.Size(math.MaxInt / 2); ok {
		t.Errorf("F32.Size(MaxInt/2) = %d, want no answer", got)
	}
}
