package conformer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// toyBands is how many features toys take. Their encoders give the features of every
// eighth frame as they are, so that tests write the states they want.
const toyBands = 80

// write puts files into a folder.
func write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// tokensFile is a file of tokens.
func tokensFile(pieces ...string) []byte {
	var b strings.Builder
	for i, p := range pieces {
		fmt.Fprintf(&b, "%s %d\n", p, i)
	}
	return []byte(b.String())
}

// everyEighth records the encoder's subsampling.
func everyEighth(b *onnxtest.Builder, x string, axis int64) string {
	return b.Node("Slice", []string{x, b.List(0), b.List(1 << 40), b.List(axis), b.List(8)})
}

// toyEncoder is an encoder of a transducer.
func toyEncoder(edit func(b *onnxtest.Builder, x string) string) []byte {
	b := onnxtest.New(17)
	x := b.Input("sound", fonnx.Float, "B", toyBands, "T")
	n := b.Input("n", fonnx.Int64, "B")
	y := everyEighth(b, x, 2)
	if edit != nil {
		y = edit(b, y)
	}
	b.Output("states", y, fonnx.Float, "B", toyBands, "T2")
	count := b.Node("Div", []string{b.Node("Add", []string{n, b.Ints(nil, 7)}), b.Ints(nil, 8)})
	b.Output("count", count, fonnx.Int64, "B")
	return b.Bytes()
}

// identity is a matrix that keeps the first columns of toyBands numbers.
func identity(b *onnxtest.Builder, columns int) string {
	w := make([]float32, toyBands*columns)
	for i := range min(columns, toyBands) {
		w[i*columns+i] = 1
	}
	return b.Floats([]int{toyBands, columns}, w...)
}

// toyJoint is predictor and joint: logits are the first numbers of the frame plus a row of
// table for the last token. The state counts tokens.
func toyJoint(width, tokens int, table []float32) []byte {
	b := onnxtest.New(17)
	x := b.Input("a", fonnx.Float, "B", toyBands, "T")
	last := b.Input("b", fonnx.Int32, "B", "U")
	length := b.Input("c", fonnx.Int32, "B")
	s1, s2 := b.Input("d", fonnx.Float, 1, "B", 3), b.Input("e", fonnx.Float, 1, "B", 3)
	rows := b.Node("Gather", []string{b.Floats([]int{tokens, width}, table...), last})
	here := b.Node("MatMul", []string{b.Node("Transpose", []string{x}, onnxtest.IntList("perm", 0, 2, 1)), identity(b, width)})
	sum := b.Node("Add", []string{b.Node("Unsqueeze", []string{here, b.List(2)}), b.Node("Unsqueeze", []string{rows, b.List(1)})})
	b.Output("out", sum, fonnx.Float, "B", "T", "U", width)
	b.Output("lengths", length, fonnx.Int32, "B")
	b.Output("s", b.Node("Add", []string{s1, b.Floats(nil, 1)}), fonnx.Float, 1, "B", 3)
	b.Output("7", s2, fonnx.Float, 1, "B", 3)
	return b.Bytes()
}

// toyTransducer writes a transducer of so many tokens, <blk> among them, and durations.
func toyTransducer(t testing.TB, tokens, durations int, table []float32) string {
	dir := t.TempDir()
	var pieces []string
	for i := range tokens - 1 {
		pieces = append(pieces, marker+string(rune('a'+i)))
	}
	write(t, dir, map[string][]byte{
		"vocab.txt": tokensFile(append(pieces, "<blk>")...), "encoder-model.onnx": toyEncoder(nil),
		"decoder_joint-model.onnx": toyJoint(tokens+durations, tokens, table),
	})
	return dir
}

// toyCTC writes a CTC model.
func toyCTC(t testing.TB, tokens int) string {
	dir := t.TempDir()
	b := onnxtest.New(17)
	x := b.Input("sound", fonnx.Float, "B", toyBands, "T")
	b.Input("n", fonnx.Int64, "B")
	y := b.Node("MatMul", []string{b.Node("Transpose", []string{everyEighth(b, x, 2)}, onnxtest.IntList("perm", 0, 2, 1)), identity(b, tokens)})
	b.Output("logprobs", b.Node("LogSoftmax", []string{y}, onnxtest.Int("axis", -1)), fonnx.Float, "B", "T2", tokens)
	pieces := []string{}
	for i := range tokens - 1 {
		pieces = append(pieces, marker+string(rune('a'+i)))
	}
	write(t, dir, map[string][]byte{"tokens.txt": tokensFile(append(pieces, "<blk>")...), "model.onnx": b.Bytes()})
	return dir
}

// shown is a window whose states are rows.
func shown(rows ...[]float32) *window {
	w := &window{frames: 8 * len(rows)}
	for _, r := range rows {
		frames := make([]float32, 8*toyBands)
		copy(frames, r)
		w.features = append(w.features, frames...)
	}
	return w
}
