package local

import (
	"testing"

	"quern/engine"
	"quern/engine/graph/graphtest"
	"quern/engine/onnx/serve"
)

// TestONNXExec: graphs of all styles give their logits as every Exec does.
func TestONNXExec(t *testing.T) {
	for _, s := range []style{{name: "one graph", past: true}, {name: "merged", past: true, branch: true}, {name: "two graphs"}, {name: "few logits", past: true, keep: true}, {name: "no past", alone: true}} {
		t.Run(s.name, func(t *testing.T) {
			e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: decoderFolder(t, s)}}})
			m, release, err := leased[*textModel](t.Context(), e, "m")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			d := m.exec.(*serve.Decoder) // which the scheduler leaves alone while there is no request
			graphtest.Exec(t, d, d.Cache(8), m.Config.Vocab)
		})
	}
}
