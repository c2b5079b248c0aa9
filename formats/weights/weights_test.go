package weights_test

import (
	"errors"
	"slices"
	"testing"

	"quern/formats/weights"
	"quern/kernels/quant"
)

func TestMeta(t *testing.T) {
	var m weights.Meta
	if _, ok := m.Lookup("a"); ok || m.Len() != 0 || m.Kind("a") != 0 {
		t.Error("the zero Meta is not empty")
	}
	m.Set("a", "x")
	m.SetKind("b", int64(3), weights.Uint16)
	m.Set("c", true)
	m.Set("a", []string{"y"})
	var keys []string
	for k := range m.All() {
		keys = append(keys, k)
	}
	if !slices.Equal(keys, []string{"a", "b", "c"}) {
		t.Errorf("keys %q, want a, b, c: Set must keep a key's position", keys)
	}
	if n, ok := m.Int("b"); n != 3 || !ok || m.Kind("b") != weights.Uint16 {
		t.Errorf("b = %d, %v, %v; want 3, true, uint16", n, ok, m.Kind("b"))
	}
	if b, ok := m.Bool("c"); !b || !ok {
		t.Errorf("c = %v, %v; want true, true", b, ok)
	}
	if s := m.Strings("a"); !slices.Equal(s, []string{"y"}) || m.String("a") != "" {
		t.Errorf("a = %q as strings, %q as a string; want [y] and none", s, m.String("a"))
	}
	if n, ok := m.Int("a"); n != 0 || ok {
		t.Errorf("a = %d, %v as an integer; want none", n, ok)
	}
	m.Set("b", int64(4))
	if m.Kind("b") != 0 {
		t.Errorf("b is %v after Set, want unknown", m.Kind("b"))
	}
}

func TestKindString(t *testing.T) {
	for k, want := range map[weights.Kind]string{
		0: "unknown", weights.Uint8: "uint8", weights.String: "string", weights.Float64: "float64", 99: "Kind(99)",
	} {
		if got := k.String(); got != want {
			t.Errorf("Kind(%d) = %q, want %q", uint8(k), got, want)
		}
	}
}

func TestSet(t *testing.T) {
	var s weights.Set
	a := &weights.Tensor{Name: "a", Type: quant.F32, Shape: []int{2, 3}, Data: make([]byte, 24)}
	b := &weights.Tensor{Name: "b", Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}
	for _, tn := range []*weights.Tensor{b, a} {
		if err := s.Add(tn); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(&weights.Tensor{Name: "a"}); err == nil {
		t.Error("a second tensor of the same name: no error")
	}
	if got, ok := s.Tensor("a"); got != a || !ok || a.Elems() != 6 {
		t.Errorf("Tensor(a) = %p of %d, %v; want %p of 6", got, a.Elems(), ok, a)
	}
	if got := slices.Collect(s.All()); !slices.Equal(got, []*weights.Tensor{b, a}) || s.Len() != 2 || s.Bytes() != 28 {
		t.Errorf("%d tensors of %d bytes; want b and a, 28 bytes", s.Len(), s.Bytes())
	}

	broken := errors.New("broken")
	var order []int
	for i, err := range []error{nil, broken, errors.New("later")} {
		s.OnClose(func() error { order = append(order, i); return err })
	}
	if err := s.Close(); err == nil || err.Error() != "later" {
		t.Errorf("Close: %v, want the first error met", err)
	}
	if err := s.Close(); err != nil || !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("closed in order %v, then %v; want 2 1 0 and nothing", order, err)
	}
}

// The parts of a view of every other matrix are these matrices; other data is one part.
func TestParts(t *testing.T) {
	all := &weights.Tensor{Type: quant.F16, Shape: []int{3, 2, 2}, Data: []byte("aaaabbbbccccddddeeeeffff")}
	for want, x := range map[string]*weights.Tensor{
		"aaaabbbbccccddddeeeeffff ": all,
		"aaaa cccc eeee ":           {Type: quant.F16, Shape: []int{3, 1, 2}, Data: all.Data[:20], Step: 8},
		"bbbb dddd ffff ":           {Type: quant.F16, Shape: []int{3, 1, 2}, Data: all.Data[4:], Step: 8},
		"":                          {Type: quant.F16, Shape: []int{0, 1, 2}},
	} {
		got := ""
		for part := range x.Parts() {
			got += string(part) + " "
		}
		if got != want {
			t.Errorf("parts %q, want %q", got, want)
		}
	}
}
