package main

import (
	"testing"

	"quern/engine/asr/conformer"
)

// A model that was written is one, of the kind and size it says, and transcribes; the same
// flags write the same model.
func TestGenerate(t *testing.T) {
	for _, int8s := range []bool{false, true} {
		dir := t.TempDir()
		if err := generate(dir, published["small"], int8s); err != nil {
			t.Fatal(err)
		}
		info, err := conformer.Describe(dir)
		if err != nil {
			t.Fatal(err)
		}
		if number := map[bool]string{false: "F32", true: "INT8"}[int8s]; info.Kind != conformer.TDT || info.Tokens != 65 || info.Durations != 5 || info.Longest != 80 || info.Number != number {
			t.Errorf("%+v", info)
		}
		m, done, err := open(dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		if together := m.Batches() == ""; together == int8s {
			t.Errorf("int8 %v: batches %q", int8s, m.Batches())
		}
		x := sound(5)
		first, err := hear(m, x)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := hear(m, x); again != first || err != nil {
			t.Errorf("%d tokens, then %d, %v", first, again, err)
		}
		done()
	}
}
