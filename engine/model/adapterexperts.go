package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quern/formats/weights"
)

// Changes of experts in adapters of Hugging Face's PEFT: of modules, one for each expert, or
// of parameters that hold all of them (target_parameters).

// A stackedChange is the changes of the experts of one matrix. Those left out change nothing.
type stackedChange struct {
	first lowRank
	parts []lowRank // by expert
}

// addExpert adds the change of an expert of n to those of its matrix.
func addExpert(all map[string]*stackedChange, x lowRank, expert, n int) error {
	s := all[x.to]
	if s == nil {
		s = &stackedChange{first: x, parts: make([]lowRank, n)}
		all[x.to] = s
	}
	f := &s.first
	switch {
	case expert >= n:
		return fmt.Errorf("%w: the adapter changes %.100s, and the model has %d experts: it was made for another one", ErrFormat, x.name, n)
	case s.parts[expert].a != nil:
		return fmt.Errorf("%w: two changes of %s of expert %d", ErrFormat, x.to, expert)
	case len(x.a.Shape) != 2 || len(x.b.Shape) != 2:
		return fmt.Errorf("%w: %.100s is %v and %v, want two matrices", ErrFormat, x.name, x.a.Shape, x.b.Shape)
	case !slices.Equal(x.a.Shape, f.a.Shape) || !slices.Equal(x.b.Shape, f.b.Shape) || x.a.Type != f.a.Type || x.b.Type != f.b.Type || x.scale != f.scale:
		return fmt.Errorf("%w: the changes of %.100s, of %v and %v by %g, and of %.100s, of %v and %v by %g, differ; experts of one layer share a rank, a type and a scale",
			ErrUnsupported, f.name, f.a.Shape, f.b.Shape, f.scale, x.name, x.a.Shape, x.b.Shape, x.scale)
	}
	s.parts[expert] = x
	return nil
}

// whole is the change of the stack.
func (s *stackedChange) whole() lowRank {
	x := s.first
	stack := func(name string, half func(*lowRank) *weights.Tensor) *weights.Tensor {
		one := half(&s.first)
		w := &weights.Tensor{Name: name, Type: one.Type, Shape: append([]int{len(s.parts)}, one.Shape...)}
		w.Later(func(dst []byte) error {
			for e := range s.parts {
				data := dst[e*one.Size() : (e+1)*one.Size()]
				if t := half(&s.parts[e]); t == nil {
					clear(data)
				} else if err := t.ReadTo(data); err != nil {
					return err
				}
			}
			return nil
		})
		return w
	}
	x.a = stack(x.to+".lora_a", func(c *lowRank) *weights.Tensor { return c.a })
	x.b = stack(x.to+".lora_b", func(c *lowRank) *weights.Tensor { return c.b })
	return x
}

// peftStacks are the parameters of a module of experts, behind its name; the first is a module
// that is nothing else.
var peftStacks = []string{"", ".gate_up_proj", ".up_proj", ".down_proj"}

// parameter reads the change of a stack of experts that is one parameter, and reports whether
// x is one. PEFT names such a change after the module, once for each of its parameters, with
// "base_layer" for every one around it: which parameter is meant its sizes say.
//
// A is (experts·rank, in), expert by expert, and B (out, rank·experts), of which neighbouring
// columns are of neighbouring experts. What of a parameter is in and what out depends on the
// version of PEFT: before 0.19 it was the second and the third dimension, since then it is
// what the matrix takes and gives.
func (n *peftNames) parameter(x lowRank, c *peftConfig, s *sites) (lowRank, bool, error) {
	module := x.name
	for strings.HasSuffix(module, ".base_layer") {
		module = strings.TrimSuffix(module, ".base_layer")
	}
	type place struct {
		hf, to string
		shape  []int
		turned bool // A is of what the matrix gives
	}
	var all, fit []place
	for _, f := range n.families {
		for _, leaf := range peftStacks {
			tr := f
			name, expert, err := tr.name(module + leaf + ".weight")
			if err != nil || expert >= 0 || !strings.HasSuffix(name, "_exps.weight") {
				continue
			}
			p := place{hf: module + leaf, to: name, shape: s.stacks[name]}
			if p.shape == nil {
				continue
			}
			all = append(all, p)
			rows := x.a.Shape[0]
			if len(x.a.Shape) != 2 || len(x.b.Shape) != 2 || x.b.Shape[1] != rows || rows%p.shape[0] != 0 {
				continue
			}
			for _, turned := range []bool{false, true} {
				in, out := p.shape[2], p.shape[1]
				if turned {
					in, out = out, in
				}
				if x.a.Shape[1] == in && x.b.Shape[0] == out {
					p.turned = turned
					fit = append(fit, p)
				}
			}
		}
		if len(all) > 0 {
			break
		}
	}
	if len(all) == 0 {
		return x, false, nil
	}
	if len(fit) == 0 {
		return x, true, fmt.Errorf("%w: the change of %.100s has shapes %v and %v, and %s is %v: it was made for another model", ErrFormat, x.name, x.a.Shape, x.b.Shape, all[0].to, all[0].shape)
	}
	if len(fit) > 1 {
		turned := c.before(19) && !slices.Contains([]string{"gpt-oss", "llama4", "qwen3vlmoe"}, s.b.c.Arch) // those are (experts, in, out)
		fit = slices.DeleteFunc(fit, func(p place) bool { return p.turned != turned })
	}
	if len(fit) != 1 {
		return x, true, fmt.Errorf("%w: the change of %.100s, of %v and %v, fits several stacks of experts; merge the adapter into its model", ErrUnsupported, x.name, x.a.Shape, x.b.Shape)
	}
	p := fit[0]
	experts := p.shape[0]
	rank := x.a.Shape[0] / experts
	var err error
	if x.scale, err = c.scale(p.hf, rank); err != nil {
		return x, true, err
	}
	x.to = p.to
	byExpert := &weights.Tensor{Name: x.a.Name, Type: x.a.Type, Shape: []int{experts, rank, x.a.Shape[1]}, Data: x.a.Data}
	if x.a.Data == nil {
		byExpert.Later(x.a.ReadTo)
	}
	byColumn := columnsByExpert(x.b, experts, rank)
	if p.turned {
		x.a, x.b = transposed(x.b.Name, byColumn, 0, rank), transposed(x.a.Name, byExpert, 0, x.a.Shape[1])
	} else {
		x.a, x.b = byExpert, byColumn
	}
	return x, true, nil
}

// columnsByExpert is (experts, rows, rank) of t's (rows, rank·experts).
func columnsByExpert(t *weights.Tensor, experts, rank int) *weights.Tensor {
	rows := t.Shape[0]
	w := &weights.Tensor{Name: t.Name, Type: t.Type, Shape: []int{experts, rows, rank}}
	size := t.Size() / max(1, t.Elems()) // bytes of a number: there are no blocks in these files
	rearrange(w, t, func(dst, data []byte) {
		for e := range experts {
			for row := range rows {
				for k := range rank {
					at := ((row*rank+k)*experts + e) * size
					dst = dst[copy(dst, data[at:at+size]):]
				}
			}
		}
	})
	return w
}

// before reports whether a version of PEFT before 0.minor wrote the adapter. Those that do not
// say are older than 0.18.
func (c *peftConfig) before(minor int) bool {
	major, rest, _ := strings.Cut(c.Version, ".")
	second, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(second)
	return c.Version == "" || major == "0" && err == nil && n < minor
}
