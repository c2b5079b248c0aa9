package onnx_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"quern/formats/onnx"
)

// msg, num and text write protobuf fields.
func msg(field uint64, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	b := binary.AppendUvarint(nil, field<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(body))), body...)
}

func num(field, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, field<<3), v)
}

func text(field uint64, s string) []byte { return msg(field, []byte(s)) }

func external(kv ...string) []byte {
	var b []byte
	for i := 0; i < len(kv); i += 2 {
		b = append(b, msg(13, text(1, kv[i]), text(2, kv[i+1]))...)
	}
	return b
}

// model wraps a tensor as the initializer of a graph with one node.
func model(tensor ...[]byte) []byte {
	node := msg(1, text(1, "w"), text(2, "y"), text(4, "Neg"), msg(5, text(1, "axis"), num(3, math.MaxUint64), num(20, 2)))
	out := msg(12, text(1, "y"), msg(2, msg(1, num(1, 1), msg(2, msg(1, text(2, "batch")), msg(1, num(1, 2))))))
	return bytes.Join([][]byte{num(1, 9), msg(8, text(1, "ai.onnx"), num(2, 17)), msg(7, node, msg(5, tensor...), out)}, nil)
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tensor [][]byte
		want   []byte // data; nil for an error
		err    error
	}{
		{"raw", [][]byte{num(1, 2), num(2, 3), text(9, "\x01\xff")}, []byte{1, 0xff}, nil},
		{"typed int8", [][]byte{num(1, 2), num(2, 3), num(5, 1), num(5, math.MaxUint64)}, []byte{1, 0xff}, nil},
		{"packed float16", [][]byte{num(1, 1), num(2, 10), msg(5, binary.AppendUvarint(nil, 0x3c00))}, []byte{0, 0x3c}, nil},
		{"int4", [][]byte{num(1, 3), num(2, 22), num(5, 0x21), num(5, 3)}, []byte{0x21, 3}, nil},
		{"external", [][]byte{num(1, 2), num(2, 2), num(14, 1), external("location", "w.bin", "offset", "1", "length", "2")}, []byte{'b', 'c'}, nil},
		{"external to the end", [][]byte{num(1, 3), num(2, 2), num(14, 1), external("location", "w.bin", "offset", "1")}, []byte("bcd"), nil},
		{"external above", [][]byte{num(1, 1), num(2, 2), num(14, 1), external("location", "../w.bin")}, nil, onnx.ErrFormat},
		{"external from the root", [][]byte{num(1, 1), num(2, 2), num(14, 1), external("location", "/w.bin")}, nil, onnx.ErrFormat},
		{"external past the end", [][]byte{num(1, 2), num(2, 2), num(14, 1), external("location", "w.bin", "offset", "3")}, nil, onnx.ErrFormat},
		{"external, huge offset", [][]byte{num(1, 2), num(2, 2), num(14, 1), external("location", "w.bin", "offset", "9223372036854775807")}, nil, onnx.ErrFormat},
		{"external, missing", [][]byte{num(1, 2), num(2, 2), num(14, 1), external("location", "v.bin")}, nil, fs.ErrNotExist},
		{"short", [][]byte{num(1, 3), num(2, 2), text(9, "ab")}, nil, onnx.ErrFormat},
		{"huge", [][]byte{num(1, 1<<39), num(1, 1<<39), num(2, 1)}, nil, onnx.ErrFormat},
		{"negative", [][]byte{num(1, math.MaxUint64), num(2, 1)}, nil, onnx.ErrFormat},
		{"complex", [][]byte{num(1, 1), num(2, 14), text(9, "12345678")}, nil, onnx.ErrUnsupported},
		{"type of the future", [][]byte{num(2, 99)}, nil, onnx.ErrUnsupported},
		{"wire type", [][]byte{text(2, "x")}, nil, onnx.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := onnx.Parse(model(append(tt.tensor, text(8, "w"))...), fstest.MapFS{"w.bin": {Data: []byte("abcd")}})
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			if got := m.Graph.Initializers[0]; !bytes.Equal(got.Data, tt.want) || got.Name != "w" {
				t.Errorf("tensor %q holds %x, want %x", got.Name, got.Data, tt.want)
			}
			n, out := m.Graph.Nodes[0], m.Graph.Outputs[0].Type
			if n.Op != "Neg" || n.Attrs["axis"].I != -1 || m.Opsets[""] != 17 {
				t.Errorf("node %q, axis %d, opset %d; want Neg, -1, 17", n.Op, n.Attrs["axis"].I, m.Opsets[""])
			}
			if len(out.Dims) != 2 || out.Dims[0] != (onnx.Dim{Size: -1, Param: "batch"}) || out.Dims[1].Size != 2 {
				t.Errorf("output has dimensions %v, want batch, 2", out.Dims)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("w.bin", []byte("abcd"))
	write("model.onnx", model(num(1, 2), num(2, 2), num(14, 1), external("location", "w.bin", "offset", "2"), text(8, "w")))
	m, err := onnx.Open(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Graph.Initializers[0].Data); got != "cd" {
		t.Errorf("external data is %q, want cd", got)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenOutside points at a file beside the model's directory by a symbolic
// link in it.
func TestOpenOutside(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "model")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("abcd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "secret"), filepath.Join(sub, "w.bin")); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(sub, "model.onnx")
	if err := os.WriteFile(path, model(num(1, 4), num(2, 2), num(14, 1), external("location", "w.bin")), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := onnx.Open(path); err == nil {
		t.Errorf("read %q from outside the directory", m.Graph.Initializers[0].Data)
	}
}

func TestSparse(t *testing.T) {
	sparse := func(indices ...byte) []byte {
		var data []byte
		for _, i := range indices {
			data = binary.LittleEndian.AppendUint64(data, uint64(i))
		}
		values := msg(1, num(1, 2), num(2, 2), text(9, "ab"))
		index := msg(2, num(1, 2), num(1, uint64(len(indices)/2)), num(2, 7), msg(9, data))
		return msg(7, msg(15, values, index, num(3, 2), num(3, 3)))
	}
	if _, err := onnx.Parse(sparse(0, 2, 1, 1), nil); err != nil {
		t.Errorf("indices (0, 2) and (1, 1) of shape 2×3: %v", err)
	}
	if _, err := onnx.Parse(sparse(0, 2, 1, 3), nil); !errors.Is(err, onnx.ErrFormat) {
		t.Errorf("index (1, 3) of shape 2×3: %v, want ErrFormat", err)
	}
}

// TestMemory holds the bound of Parse against the messages that cost most.
func TestMemory(t *testing.T) {
	const n = 1 << 16
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"nodes", msg(7, bytes.Repeat([]byte{1<<3 | 2, 0}, n))},
		{"inputs", msg(7, bytes.Repeat([]byte{11<<3 | 2, 0}, n))},
		{"functions", append(msg(7), bytes.Repeat(msg(25), n)...)},
		{"numbers", model(num(1, n), num(2, 2), msg(5, make([]byte, n)))},
		{"graphs", msg(7, msg(1, msg(5, bytes.Repeat([]byte{11<<3 | 2, 0}, n))))},
		{"dimensions", msg(7, bytes.Repeat(msg(11, msg(2, msg(1, msg(2, bytes.Repeat([]byte{1<<3 | 2, 0}, 32))))), n/64))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			m, err := onnx.Parse(tt.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if got := int(after.HeapAlloc-before.HeapAlloc) / len(tt.data); after.HeapAlloc > before.HeapAlloc && got > 200 {
				t.Errorf("%d bytes of memory for each of %d bytes, want 200 at most", got, len(tt.data))
			}
			runtime.KeepAlive(m)
		})
	}
}

func TestDepth(t *testing.T) {
	deep := []byte{}
	for range 200 {
		deep = msg(4, msg(1, deep))
	}
	_, err := onnx.Parse(msg(7, msg(12, msg(2, deep))), nil)
	if !errors.Is(err, onnx.ErrFormat) {
		t.Errorf("types nested 200 deep: %v, want ErrFormat", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(model(num(1, 2), num(2, 3), text(9, "\x01\xff")))
	f.Add(model(num(1, 3), num(2, 22), num(5, 0x21), num(5, 3)))
	f.Add(msg(7, msg(15, msg(1, num(1, 1), num(2, 2), text(9, "a")), msg(2, num(1, 1), num(2, 7), num(7, 2)), num(3, 4))))
	f.Add(append(msg(7), msg(25, text(1, "f"), text(4, "x"), text(6, "a"), msg(7, text(4, "Neg")), text(10, "d"), msg(11, text(1, "b")))...))
	f.Add(model(num(1, 2), num(2, 2), num(14, 1), external("location", "w.bin", "offset", "1")))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := onnx.Parse(data, fstest.MapFS{"w.bin": {Data: []byte("abcd")}})
		if err != nil {
			if !errors.Is(err, onnx.ErrFormat) && !errors.Is(err, onnx.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		for _, w := range m.Graph.Initializers {
			n := w.Type.Bits()
			for _, d := range w.Shape {
				n *= d
			}
			if (n+7)/8 != len(w.Data) {
				t.Fatalf("%v of shape %d in %d bytes", w.Type, w.Shape, len(w.Data))
			}
		}
	})
}
