package onnx

import "testing"

// TestOperatorsOnce checks that no operator is in the table twice.
func TestOperatorsOnce(t *testing.T) {
	seen, n := make(map[string]int), 0
	for i, family := range families {
		for name := range family() {
			if before, ok := seen[name]; ok {
				t.Errorf("%s is in families %d and %d", name, before, i)
			}
			seen[name] = i
			n++
		}
	}
	if all := operators(); len(all) != len(seen) {
		t.Errorf("%d operators, want %d", len(all), len(seen))
	}
	for name, op := range operators() {
		if op == nil {
			t.Errorf("%s is nil", name)
		}
	}
	t.Logf("%d operators", n)
}
