// Package element has the operators on one number at a time: arithmetic, functions,
// comparisons, casts and random numbers.
package element

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	ops := run.Table{
		"Where": where, "Mod": mod, "Pow": pow, "BitShift": bitShift, "Mean": mean,
		"Equal": equal, "Not": not, "Dropout": dropout,
		"Identity": func(c *run.Call) []*tensor.Tensor { return run.One(c.X(0)) },
		"Cast":     func(c *run.Call) []*tensor.Tensor { return run.One(cast(c, onnx.DType(c.Int("to", 0)))) },
		"CastLike": func(c *run.Call) []*tensor.Tensor { return run.One(cast(c, c.X(1).Type)) },
		"BitCast":  bitCast,
	}
	for name, b := range Binaries {
		ops[name] = func(c *run.Call) []*tensor.Tensor { return run.One(Binary(c, b, c.X(0), c.X(1))) }
	}
	for _, name := range []string{"And", "Or", "Xor"} {
		b := Binaries[name]
		ops[name] = func(c *run.Call) []*tensor.Tensor {
			if c.X(0).Type != onnx.Bool {
				tensor.Malformed("%s of %v", c.Node.Op, c.X(0).Type)
			}
			return run.One(Binary(c, b, c.X(0), c.X(1)))
		}
	}
	for name, b := range map[string]string{"Max": "Max", "Min": "Min", "Sum": "Add"} {
		ops[name] = func(c *run.Call) []*tensor.Tensor { return run.One(variadic(c, Binaries[b])) }
	}
	ops["Div"] = func(c *run.Call) []*tensor.Tensor {
		noZeros(c, c.X(1))
		return run.One(Binary(c, Binaries["Div"], c.X(0), c.X(1)))
	}
	for name, o := range map[string]order{"Less": less, "LessOrEqual": less | same, "Greater": greater, "GreaterOrEqual": greater | same} {
		ops[name] = func(c *run.Call) []*tensor.Tensor { return run.One(compare(c, o)) }
	}
	for name, u := range unaries() {
		ops[name] = func(c *run.Call) []*tensor.Tensor { return run.One(mapped(c, c.X(0), u(c))) }
	}
	for name, u := range predicates {
		ops[name] = func(c *run.Call) []*tensor.Tensor { return run.One(test(c, u(c))) }
	}
	return run.Join(older(ops), randomOps())
}
