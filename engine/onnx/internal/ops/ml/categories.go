package ml

import (
	"math"
	"strconv"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// labelOf returns element i as what labels are compared by.
func labelOf(t *tensor.Tensor, i int) string {
	switch {
	case t.S != nil:
		return t.S[i]
	case t.I != nil:
		return strconv.FormatInt(t.I[i], 10)
	}
	return strconv.FormatFloat(t.At(i), 'g', -1, 64) // one NaN for all
}

// labelEncoder replaces keys by values, others by a default.
func labelEncoder(c *run.Call) []*tensor.Tensor {
	x, keys, values := c.X(0), table(c, "keys_"), table(c, "values_")
	if keys == nil || values == nil || keys.Len() != values.Len() || keys.Type != x.Type {
		tensor.Malformed("no labels for %v", x.Type)
	}
	missing := tensorAttr(c, "default_tensor")
	if missing == nil {
		missing = tensor.New(values.Type, 1)
		switch {
		case values.S != nil:
			missing.S[0] = c.Text("default_string", "_Unused")
		case values.I != nil:
			missing.I[0] = int64(c.Int("default_int64", -1))
		default:
			missing.Put(0, c.Float("default_float", float32(math.Copysign(0, -1))))
		}
	}
	if missing.Type != values.Type || missing.Len() != 1 {
		tensor.Malformed("a default of %v for %v", missing.Type, values.Type)
	}
	at := make(map[string]int, keys.Len())
	for i := range keys.Len() {
		if k := labelOf(keys, i); at[k] == 0 { // the first of equals, counted from 1
			at[k] = i + 1
		}
	}
	out := c.Blank(values.Type, x.Shape...)
	for i := range x.Len() {
		if k := at[labelOf(x, i)]; k > 0 {
			tensor.CopyElems(out, i, values, k-1, 1)
		} else {
			tensor.CopyElems(out, i, missing, 0, 1)
		}
	}
	return run.One(out)
}

// oneHotEncoder writes a row of zeros with a one for the category of each
// element.
func oneHotEncoder(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	at := make(map[string]int) // counted from 1
	n := 0
	if x.S != nil || x.Type == onnx.String {
		if a := c.Attr("cats_strings"); a != nil {
			n = len(a.Strings)
			for i, s := range a.Strings {
				at[s] = i + 1
			}
		}
	} else if a := c.Attr("cats_int64s"); a != nil {
		t := &tensor.Tensor{Type: onnx.Int64, I: a.Ints}
		n = len(a.Ints)
		for i := range a.Ints {
			at[labelOf(t, i)] = i + 1
		}
	}
	if n == 0 || x.Seq != nil || x.None() {
		tensor.Malformed("no categories for %v", x.Type)
	}
	out := c.Zeros(onnx.Float, append(append([]int{}, x.Shape...), n)...)
	keys := x
	if x.S == nil && x.I == nil {
		keys = tensor.Cast(x, onnx.Int64, tensor.CastOptions{Saturate: true})
	}
	for i := range x.Len() {
		switch k := at[labelOf(keys, i)]; {
		case k > 0:
			out.F[i*n+k-1] = 1
		case c.Int("zeros", 1) == 0:
			tensor.Malformed("%q is no category", labelOf(keys, i))
		}
	}
	return run.One(out)
}

// categoryMapper turns strings to numbers or numbers to strings.
func categoryMapper(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	names, numbers := c.Attr("cats_strings"), c.Attr("cats_int64s")
	if names == nil || numbers == nil || len(names.Strings) != len(numbers.Ints) || x.Type != onnx.String && x.Type != onnx.Int64 {
		tensor.Malformed("CategoryMapper of %v", x.Type)
	}
	if x.Type == onnx.String {
		at := make(map[string]int64)
		for i, s := range names.Strings {
			at[s] = numbers.Ints[i]
		}
		out := c.Blank(onnx.Int64, x.Shape...)
		for i, s := range x.S {
			v, ok := at[s]
			if !ok {
				v = int64(c.Int("default_int64", -1))
			}
			out.I[i] = v
		}
		return run.One(out)
	}
	at := make(map[int64]string)
	for i, v := range numbers.Ints {
		at[v] = names.Strings[i]
	}
	out := c.Blank(onnx.String, x.Shape...)
	for i, v := range x.I {
		s, ok := at[v]
		if !ok {
			s = c.Text("default_string", "_Unused")
		}
		out.S[i] = s
	}
	return run.One(out)
}
