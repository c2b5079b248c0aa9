package hub

import (
	"os"
	"strings"
	"testing"

	"quern/bench/fixtures"
)

// A Parakeet is pulled in either layout and number type, the tests of its authors left out.
func TestPullParakeet(t *testing.T) {
	for _, tt := range []struct{ layout, ref, want string }{
		{"parakeet-onnx-asr", "o/n", "config.json decoder_joint-model.onnx encoder-model.onnx vocab.txt"},
		{"parakeet-onnx-asr", "o/n:int8", "config.json decoder_joint-model.int8.onnx encoder-model.int8.onnx vocab.txt"},
		{"parakeet-sherpa", "o/n:int8", "decoder.int8.onnx encoder.int8.onnx joiner.int8.onnx tokens.txt"},
	} {
		files := map[string][]byte{"README.md": []byte("hello"), "nemo128.onnx": []byte("features"), "test_wavs/0.wav": []byte("RIFF")}
		entries, err := os.ReadDir(fixtures.Path(t, "diarise", "models", tt.layout))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile(fixtures.Path(t, "diarise", "models", tt.layout, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = data
			if stem, ok := strings.CutSuffix(e.Name(), ".onnx"); ok {
				files[stem+".int8.onnx"] = data
			}
		}
		h := newFakeHub(t, files)
		c, s := h.client(t, func(*Options) {})
		m, err := c.Pull(t.Context(), ref(t, tt.ref))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, name := range append([]string{".hub.json"}, strings.Fields(tt.want)...) {
			want = append(want, "o/n/"+name)
		}
		holds(t, s, want...)
		if found, err := s.Find(ref(t, tt.ref)); err != nil || found.Path != m.Path || m.Kind != "nemo" {
			t.Errorf("found %+v, %v; pulled %+v", found, err, m)
		}
	}
}
