package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// npy is a file as numpy.save writes one of little-endian numbers of that type.
func npy(descr, shape string, data string) string {
	header := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }"
	for (10+len(header))%64 != 63 {
		header += " "
	}
	header += "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + data
}

// arithmetic is a graph that gives x·w + 1 and a count.
func arithmetic() []byte {
	b := onnxtest.New(17)
	x := b.Input("x", onnx.Float, "rows", 2)
	scale := b.Input("scale", onnx.Float)
	y := b.Node("Mul", []string{x, b.Floats([]int{2}, 2, -3)})
	b.Output("/model/y:0", b.Node("Add", []string{y, scale}), onnx.Float, "rows", 2)
	b.Output("least", b.Node("Min", []string{b.List(7, 3, 4)}), onnx.Int64, 3)
	return b.Bytes()
}

func TestRunONNX(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		write(t, path, content)
		return path
	}
	model := file("model.onnx", string(arithmetic()))
	odd := onnxtest.New(17)
	odd.Output("y", odd.Node("org.example.Odd", []string{odd.Input("x", onnx.Float, 1)}), onnx.Float, 1)
	strange := file("strange.onnx", string(odd.Bytes()))
	x := file("x.npy", npy("<f4", "(2, 2)", "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x00\xbf\x00\x00\x00\x00")) // 1 2 −½ 0
	one := file("one.npy", npy("<f4", "()", "\x00\x00\x80\x3f"))
	whole := file("whole.npy", npy("<i8", "(2, 2)", strings.Repeat("\x01\x00\x00\x00\x00\x00\x00\x00", 4)))

	out := filepath.Join(dir, "out")
	code, text, errs := quern(t, "", nil, "run-onnx", model, "--input", "x="+x, "--input", "scale="+one, "--output", out, "--threads", "1")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	// 2+1 −6+1; −1+1 0+1
	for _, part := range []string{"output", "/model/y:0", "float", "2 × 2", "-5", "0", "3", "least", "int64", "4.66667", "_model_y_0.npy"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q not in\n%s", part, text)
		}
	}
	got, err := os.ReadFile(filepath.Join(out, "_model_y_0.npy"))
	if err != nil || !strings.HasSuffix(string(got), "\x00\x00\x40\x40\x00\x00\xa0\xc0\x00\x00\x00\x00\x00\x00\x80\x3f") {
		t.Errorf("the output is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(out, "least.npy")); err != nil {
		t.Error(err)
	}

	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"missing operators come first", []string{strange}, 1, []string{"missing operators org.example.Odd"}},
		{"missing inputs", []string{model}, 2, []string{"these inputs are missing:", "x: float (rows, 2)", "scale: float ()", "A name in a shape is a size you choose"}},
		{"an input that is none", []string{model, "--input", "x=" + x, "--input", "scale=" + one, "--input", "z=" + x}, 2, []string{`no input "z"`, "scale: float"}},
		{"another shape", []string{model, "--input", "x=" + one, "--input", "scale=" + one}, 1, []string{`"x"`, "rank 2"}},
		{"another type", []string{model, "--input", "x=" + whole, "--input", "scale=" + one}, 1, []string{`"x"`, "int64", "want float"}},
		{"no array", []string{model, "--input", "x=" + model, "--input", "scale=" + one}, 1, []string{`input "x"`}},
		{"no file", []string{model, "--input", "x=" + dir + "/none.npy", "--input", "scale=" + one}, 1, []string{`input "x"`, "none.npy"}},
		{"no name", []string{model, "--input", "x.npy"}, 2, []string{"NAME=FILE.npy"}},
		{"twice", []string{model, "--input", "x=" + x, "--input", "x=" + x}, 2, []string{"given twice"}},
		{"no graph", []string{x}, 1, []string{"no ONNX model"}},
		{"nothing", nil, 2, []string{"which file?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, text, errs := quern(t, "", nil, append([]string{"run-onnx"}, tt.args...)...)
			if code != tt.code || text != "" {
				t.Errorf("exit code %d, want %d; printed %q", code, tt.code, text)
			}
			for _, part := range tt.says {
				if !strings.Contains(errs, part) {
					t.Errorf("%q not in %q", part, errs)
				}
			}
		})
	}
}

func TestInspectONNX(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.onnx")
	write(t, file, string(arithmetic()))
	code, text, errs := quern(t, "", nil, "inspect", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, part := range []string{"ONNX 8", "operators of version 17, com.microsoft 1", "can run it", "no config.json", "(rows, 2)", "/model/y:0", "Mul", "float: 2", "int64: 3"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q not in\n%s", part, text)
		}
	}
	code, text, _ = quern(t, "", nil, "inspect", "--json", file)
	var r struct {
		Format    string
		Runnable  bool
		Inputs    []struct{ Name, Type, Shape string }
		Operators map[string]int
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	if r.Format != "ONNX" || !r.Runnable || len(r.Inputs) != 2 || r.Inputs[0].Shape != "(rows, 2)" || r.Operators["Mul"] != 1 {
		t.Errorf("%+v", r)
	}
	if code, _, errs := quern(t, "", nil, "inspect", "--graph", file); code != 2 || !strings.Contains(errs, "graph already") {
		t.Errorf("graph: exit code %d, %q", code, errs)
	}
}
