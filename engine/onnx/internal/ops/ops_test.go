package ops

import "testing"

// TestOperators makes the table, which panics where an operator is in it twice.
func TestOperators(t *testing.T) {
	all := Table()
	for name, do := range all {
		if do == nil {
			t.Errorf("%s is nil", name)
		}
	}
	if len(all) < 276 {
		t.Errorf("%d operators, want 276 or more", len(all))
	}
}
