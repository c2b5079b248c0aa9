// Package cuda holds the kernels that run models on NVIDIA GPUs: their sources,
// the PTX clang makes of them, and a table of how each is launched.
//
// Nothing here needs a GPU or a driver. Package ptxvm runs the PTX, and the
// tests hold every kernel against its reference on the CPU.
//
// All matrices are dense, row after row. Weights have the layout of GGUF files;
// a tensor begins at a multiple of 256 bytes. Quantised activations are rows of
// quant.ActQ8_32: groups of 256 values in 320 bytes, a row padded to whole groups.
// Pointers marked optional may be 0. Element counts of one tensor's row fit an
// int32; byte offsets are 64 bits wide.
package cuda

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strconv"
	"strings"

	"quern/kernels/quant"
)

// A module is compiled for the lowest compute capability that has what it uses;
// drivers compile it for any later one, except those that are Exact.
//
//go:generate sh gen.sh
//go:embed ptx/*.ptx.gz
var files embed.FS

// PTX returns the text of a module, for cuModuleLoadData. It is unpacked for
// every call: a device loads each module once.
func PTX(module string) string {
	f, err := files.Open("ptx/" + module + ".ptx.gz")
	if err != nil {
		panic("cuda: no module " + strconv.Quote(module)) // a name of the table is always there
	}
	r, err := gzip.NewReader(f)
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(r); err == nil {
			return string(text)
		}
	}
	panic(fmt.Sprintf("cuda: module %s: %v", module, err)) // embedded data is valid
}

// Modules lists the modules and the compute capability each needs, as
// driver.Info has it.
var Modules = []struct {
	Name       string
	Capability int
	Exact      bool // no other will do: its target is sm_90a, not sm_90
}{
	{Name: "rows", Capability: 75},
	{Name: "gemv", Capability: 75},
	{Name: "experts", Capability: 75},
	{Name: "attention", Capability: 75},
	{Name: "sample", Capability: 75},
	{Name: "fused_blocks", Capability: 75},
	{Name: "fused_floats", Capability: 75},
	{Name: "rotated_blocks", Capability: 75},
	{Name: "rotated_floats", Capability: 75},
	{Name: "heads", Capability: 75},
	{Name: "recurrent", Capability: 75},
	{Name: "rwkv", Capability: 75},
	{Name: "latents", Capability: 75},
	{Name: "adapters", Capability: 75},
	{Name: "gemm", Capability: 80},
	{Name: "attention_f16", Capability: 80},
	{Name: "attention_bf16", Capability: 80},
	{Name: "attention_f8_e4m3", Capability: 80},
	{Name: "attention_q8_0", Capability: 80},
	{Name: "gemm90", Capability: 90, Exact: true},
}

// A Kind is what a parameter is.
type Kind uint8

// The kinds of parameters.
const (
	Ptr   Kind = iota // 64-bit device address
	Int               // int32
	Float             // float32, passed as its bits
)

// A Param is one parameter of a kernel.
type Param struct {
	Name string
	Kind Kind
	Of   string // what it points to or counts
}

// Dims are the sizes a grid depends on; each Kernel says which it looks at.
type Dims struct {
	Rows   int // of activations; for experts, slots (rows · used)
	Out    int // values of a result row, or weight rows
	In     int // values of an input row
	Heads  int // of queries, or of keys where the kernel writes those
	Splits int // parts a sequence is cut into
	Blocks int // of kernels whose blocks take weight rows in turn
}

// A Kernel is one entry point.
type Kernel struct {
	Name    string
	Module  string
	Op      string // the op of engine/graph it serves
	Params  []Param
	Threads int               // of a block
	Shared  int               // bytes of dynamic shared memory, for kernels that always take as many
	Grid    func(Dims) [3]int // blocks
	Doc     string            // what it computes
	Uses    string            // the fields of Dims that Grid reads
}

// Types are the weights that kernels read as they are. Others are decoded to
// one of them when they are uploaded.
var Types = []quant.Type{quant.Q4_0, quant.Q8_0, quant.Q4_K, quant.Q5_K, quant.Q6_K, quant.F16, quant.BF16, quant.F32}

// Quantised reports whether products with weights of t take activations as
// ActQ8_32; the others take float32.
func Quantised(t quant.Type) bool { return t != quant.F16 && t != quant.BF16 && t != quant.F32 }

// GEMVRows are how many rows of activations one pass over the weights may take.
var GEMVRows = []int{1, 2, 4, 8}

// Name returns a kernel's name for a type of weights or cache: Name("embed",
// quant.Q4_K) is "embed_q4_k".
func Name(stem string, t quant.Type) string { return stem + "_" + strings.ToLower(t.String()) }

// GEMVName returns the kernel for products of t with that many rows: the
// smallest of GEMVRows that holds them, and the largest for more, which then
// reads the weights once for every 8.
func GEMVName(t quant.Type, rows int) string {
	n := GEMVRows[len(GEMVRows)-1]
	for _, r := range GEMVRows {
		if r >= rows {
			n = r
			break
		}
	}
	return Name("gemv", t) + "_" + strconv.Itoa(n)
}

// GEMM90Words is the size of a row of n activations as gemm90 reads them.
func GEMM90Words(n int) int { return ceil(n, 128) * 64 }

// gemm90Shared is the dynamic shared memory of the gemm90 kernel for so many rows at a
// time: stages of activations, and two groups of weights where those are staged.
func gemm90Shared(t quant.Type, rows int) int {
	words := map[quant.Type]int{quant.Q4_0: 25, quant.Q8_0: 41, quant.Q6_K: 35}[t] // of a row
	if words == 0 {
		return 0
	}
	return max(3*rows*64*2, 64*132*4) + 2*128*4*words
}

// GEMM90Name returns the gemm90 kernel for products of t with that many rows:
// another takes 64 at a time than takes 128.
func GEMM90Name(t quant.Type, rows int) string {
	if rows <= 64 {
		return Name("gemm90", t) + "_64"
	}
	return Name("gemm90", t)
}

// Find returns a kernel of the table, nil when there is none of the name.
func Find(name string) *Kernel {
	for i := range Kernels {
		if Kernels[i].Name == name {
			return &Kernels[i]
		}
	}
	return nil
}

func ceil(n, by int) int { return (n + by - 1) / by }
