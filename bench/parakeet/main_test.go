package main

import (
	"testing"

	"quern/engine/asr/conformer"
)

// A model that was written is one, of the kind and size it says, and transcribes; the same
// flags write the same model.
func TestGenerate(t *testing.T) {
	for name, number := range map[string]string{"f32": "F32", "f16": "F16", "int8": "INT8"} {
		dir := t.TempDir()
		if err := generate(dir, published["small"], numbers[name]); err != nil {
			t.Fatal(err)
		}
		info, err := conformer.Describe(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Kind != conformer.TDT || info.Tokens != 65 || info.Durations != 5 || info.Longest != 80 || info.Number != number {
			t.Errorf("%+v", info)
		}
		m, done, err := open(dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		if together := m.Batches() == ""; together == (name == "int8") {
			t.Errorf("%s: batches %q", name, m.Batches())
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
