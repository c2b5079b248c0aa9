package quant

import "iter"

// The number types. ActQ8_32 and ActQ8_256 are not stored in files: they are the forms
// activations are quantised to before a dot product (see act.go). F8_E4M3 is a
// type of KV caches and has no Dot.
const (
	Invalid Type = iota
	F32
	F16
	BF16
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	Q8_K
	IQ4_NL
	IQ4_XS
	MXFP4
	ActQ8_32
	ActQ8_256
	F8_E4M3
	Count // of types, the zero Type included: the length of tables by Type
)

// layouts is the only table of number types. Everything that iterates over types (sizes
// in GGUF files, file names, the hub's preferences, products, tests, fuzz targets) uses
// it. A new type is a constant above, a row here and its file.
var layouts = [Count]Layout{
	F32: {Name: "F32", GGML: 0, Block: 1, Bytes: 4, With: F32, Decode: decodeF32, Encode: encodeF32, Dot: dotF32,
		Mixtures: []Mixture{{"F32", 0, 23, true}}},
	F16: {Name: "F16", GGML: 1, Block: 1, Bytes: 2, With: F32, Decode: decodeF16, Encode: encodeF16, Dot: dotF16,
		Mixtures: []Mixture{{"F16", 1, 21, true}}},
	BF16: {Name: "BF16", GGML: 30, Block: 1, Bytes: 2, With: F32, Decode: decodeBF16, Encode: encodeBF16, Dot: dotBF16,
		Mixtures: []Mixture{{"BF16", 32, 22, true}}},
	Q4_0: {Name: "Q4_0", GGML: 2, Block: 32, Bytes: 18, With: ActQ8_32, Decode: decodeQ4_0, Encode: encodeQ4_0, Dot: dotQ4_0,
		Mixtures: []Mixture{{"Q4_0", 2, 3, true}}},
	Q4_1: {Name: "Q4_1", GGML: 3, Block: 32, Bytes: 20, With: ActQ8_32, Decode: decodeQ4_1, Dot: dotQ4_1,
		Mixtures: []Mixture{{"Q4_1", 3, 11, false}}},
	Q5_0: {Name: "Q5_0", GGML: 6, Block: 32, Bytes: 22, With: ActQ8_32, Decode: decodeQ5_0, Encode: encodeQ5_0, Dot: dotQ5_0,
		Mixtures: []Mixture{{"Q5_0", 8, 9, true}}},
	Q5_1: {Name: "Q5_1", GGML: 7, Block: 32, Bytes: 24, With: ActQ8_32, Decode: decodeQ5_1, Encode: encodeQ5_1, Dot: dotQ5_1,
		Mixtures: []Mixture{{"Q5_1", 9, 10, true}}},
	Q8_0: {Name: "Q8_0", GGML: 8, Block: 32, Bytes: 34, With: ActQ8_32, Decode: decodeQ8_0, Encode: encodeQ8_0, Dot: dotQ8_0,
		Mixtures: []Mixture{{"Q8_0", 7, 4, true}}},
	Q2_K: {Name: "Q2_K", GGML: 10, Block: 256, Bytes: 84, With: ActQ8_256, Decode: decodeQ2_K, Dot: dotQ2_K,
		Mixtures: []Mixture{{"Q2_K", 10, 20, false}, {"Q2_K_S", 21, 0, false}}},
	Q3_K: {Name: "Q3_K", GGML: 11, Block: 256, Bytes: 110, With: ActQ8_256, Decode: decodeQ3_K, Dot: dotQ3_K,
		Mixtures: []Mixture{{"Q3_K_M", 12, 17, false}, {"Q3_K_L", 13, 18, false}, {"Q3_K_S", 11, 19, false}}},
	Q4_K: {Name: "Q4_K", GGML: 12, Block: 256, Bytes: 144, With: ActQ8_256, Decode: decodeQ4_K, Encode: encodeQ4_K, Dot: dotQ4_K,
		Mixtures: []Mixture{{"Q4_K_M", 15, 1, true}, {"Q4_K_S", 14, 5, false}, {"Q4_K_L", NoFileType, 6, false}, {"UD-Q4_K_XL", NoFileType, 7, false}}},
	Q5_K: {Name: "Q5_K", GGML: 13, Block: 256, Bytes: 176, With: ActQ8_256, Decode: decodeQ5_K, Encode: encodeQ5_K, Dot: dotQ5_K,
		Mixtures: []Mixture{{"Q5_K_M", 17, 2, true}, {"Q5_K_S", 16, 8, false}}},
	Q6_K: {Name: "Q6_K", GGML: 14, Block: 256, Bytes: 210, With: ActQ8_256, Decode: decodeQ6_K, Encode: encodeQ6_K, Dot: dotQ6_K,
		Mixtures: []Mixture{{"Q6_K", 18, 12, true}}},
	Q8_K: {Name: "Q8_K", GGML: 15, Block: 256, Bytes: 292, With: ActQ8_256, Decode: decodeQ8_K, Dot: dotQ8_K},
	IQ4_NL: {Name: "IQ4_NL", GGML: 20, Block: 32, Bytes: 18, With: ActQ8_32, Decode: decodeIQ4_NL, Dot: dotIQ4_NL,
		Mixtures: []Mixture{{"IQ4_NL", 25, 16, false}}},
	IQ4_XS: {Name: "IQ4_XS", GGML: 23, Block: 256, Bytes: 136, With: ActQ8_256, Decode: decodeIQ4_XS, Dot: dotIQ4_XS,
		Mixtures: []Mixture{{"IQ4_XS", 30, 15, false}}},
	MXFP4: {Name: "MXFP4", GGML: 39, Block: 32, Bytes: 17, With: ActQ8_32, Decode: decodeMXFP4, Dot: dotMXFP4,
		Mixtures: []Mixture{{"MXFP4", NoFileType, 13, false}, {"MXFP4_MOE", 38, 14, false}}},
	ActQ8_32:  {Name: "ActQ8_32", GGML: NoGGML, Block: 256, Bytes: 320, Decode: decodeQ8_32, Encode: QuantizeActQ8_32},
	ActQ8_256: {Name: "ActQ8_256", GGML: NoGGML, Block: 256, Bytes: 320, Decode: decodeQ8_256, Encode: QuantizeActQ8_256},

	F8_E4M3: {Name: "F8_E4M3", GGML: NoGGML, Block: 1, Bytes: 1, Decode: decodeF8, Encode: encodeF8},
}

// All yields the types weights are stored in, in the order of their constants.
func All() iter.Seq[Type] {
	return func(yield func(Type) bool) {
		for t := Invalid + 1; t < Count; t++ {
			if layouts[t].GGML != NoGGML && !yield(t) {
				return
			}
		}
	}
}

// ByGGML returns the Type a GGUF file means by a type number. ok is false for
// a number this package has no layout for; see UnsupportedName.
func ByGGML(ggml uint32) (t Type, ok bool) {
	for t := range All() {
		if layouts[t].GGML == ggml {
			return t, true
		}
	}
	return Invalid, false
}

// Mixtures yields the mixtures of all types, each with the type of most weights.
func Mixtures() iter.Seq2[Type, Mixture] {
	return func(yield func(Type, Mixture) bool) {
		for t := range All() {
			for _, m := range layouts[t].Mixtures {
				if !yield(t, m) {
					return
				}
			}
		}
	}
}

// UnsupportedName returns the name of a GGML type that exists but has no
// layout here, so that a reader can refuse it by name. It returns "" for
// supported and for unknown numbers.
func UnsupportedName(ggml uint32) string {
	if ggml >= uint32(len(unsupported)) {
		return ""
	}
	return unsupported[ggml]
}

// Numbers 4 and 5 were Q4_2 and Q4_3, 31 to 33 and 36 to 38 the interleaved
// forms of Q4_0 and IQ4_NL; files of that age are still in use.
var unsupported = [...]string{
	4:  "Q4_2",
	5:  "Q4_3",
	9:  "Q8_1",
	16: "IQ2_XXS",
	17: "IQ2_XS",
	18: "IQ3_XXS",
	19: "IQ1_S",
	21: "IQ3_S",
	22: "IQ2_S",
	24: "I8",
	25: "I16",
	26: "I32",
	27: "I64",
	28: "F64",
	29: "IQ1_M",
	31: "Q4_0_4_4",
	32: "Q4_0_4_8",
	33: "Q4_0_8_8",
	34: "TQ1_0",
	35: "TQ2_0",
	36: "IQ4_NL_4_4",
	37: "IQ4_NL_4_8",
	38: "IQ4_NL_8_8",
	40: "NVFP4",
	41: "Q1_0",
	42: "Q2_0",
}
