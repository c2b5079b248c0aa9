package ml

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// table returns the attribute prefix + "tensor", "strings", "int64s" or
// "floats", nil if there is none.
func table(c *run.Call, prefix string) *tensor.Tensor {
	for _, kind := range []string{"tensor", "strings", "int64s", "floats"} {
		a := c.Attr(prefix + kind)
		if a == nil {
			continue
		}
		switch kind {
		case "tensor":
			return tensorAttr(c, prefix+kind)
		case "strings":
			return &tensor.Tensor{Type: onnx.String, Shape: []int{len(a.Strings)}, S: a.Strings}
		case "int64s":
			return &tensor.Tensor{Type: onnx.Int64, Shape: []int{len(a.Ints)}, I: a.Ints}
		}
		return &tensor.Tensor{Type: onnx.Float, Shape: []int{len(a.Floats)}, F: a.Floats}
	}
	return nil
}

// tensorAttr returns the tensor of an attribute, nil if there is none.
func tensorAttr(c *run.Call, name string) *tensor.Tensor {
	a := c.Attr(name)
	if a == nil || a.T == nil {
		return nil
	}
	t := c.Constant(a.T)
	return t.Whole()
}

// floatsAttr returns the numbers of an attribute.
func floatsAttr(c *run.Call, name string) []float32 {
	if a := c.Attr(name); a != nil {
		return a.Floats
	}
	return nil
}

// numbersOf returns the floats of an attribute or of the tensor with _as_tensor
// after its name.
func numbersOf(c *run.Call, name string) []float64 {
	if t := tensorAttr(c, name+"_as_tensor"); t != nil && (t.F != nil || t.D != nil) {
		v := make([]float64, t.Len())
		for i := range v {
			v[i] = t.At(i)
		}
		return v
	}
	all := floatsAttr(c, name)
	v := make([]float64, len(all))
	for i, f := range all {
		v[i] = float64(f)
	}
	return v
}
