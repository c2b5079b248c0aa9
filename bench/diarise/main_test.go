package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/asr/diarize"
	"quern/engine/asr/speakers"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/kernels/threads"
)

// Of noisy conversations of our own voices at most a tenth of the speech is given to the
// wrong speaker, or none, with networks that tell their tones apart.
func TestConversations(t *testing.T) {
	file := func(name string) string { return fixtures.Path(t, "diarise", "models", name) }
	pool := threads.NewPool(2)
	defer pool.Close()
	m, err := diarize.Open(t.Context(), diarize.Files{Segmentation: file("pyannote-seg-bands.onnx"), Embedding: file("wespeaker-emb-bands.onnx")}, func(_ context.Context, g *fonnx.Model) (diarize.Graph, error) {
		return onnx.New(g, onnx.Options{Pool: pool})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	voices, err := record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []conversation
	for i, c := range conversations(60, 1) {
		// Those with noise, of as many speakers at 16 kHz or 8: a plain go test alternates, and
		// takes two of three.
		if c.noise > 0 && (fixtures.Whole || i%4/2 == c.speakers%2 && i%3 != 2) {
			list = append(list, c)
		}
	}
	// These four over a telephone were three before narrow speakers were kept apart, the
	// latter two before windows with half as much of a voice alone counted for that.
	for _, seed := range []uint64{7, 9, 18, 108, 113} {
		list = append(list, conversation{4, 8000, 0.01, 60, seed})
	}
	for _, c := range list {
		x, truth := c.play(voices)
		r, err := tell(t.Context(), m, x)
		if err != nil {
			t.Fatal(err)
		}
		if e := (speakers.Scoring{}).Rate(truth, r.Turns); e.DER() > 0.1 || e.Total < 30 {
			t.Errorf("%d speakers at %d Hz, seed %d: DER %.3f of %.0f s, %d found", c.speakers, c.rate, c.seed, e.DER(), e.Total, len(r.Names))
		}
	}
}

// Networks of published size are known by quern for what they are.
func TestNetworks(t *testing.T) {
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	files := diarize.Files{Segmentation: filepath.Join(dir, "segmentation.onnx")}
	for name, least := range map[string]int64{"segmentation": 5 << 20, "campplus": 25 << 20, "ecapa": 23 << 20, "titanet": 85 << 20} {
		file := filepath.Join(dir, name+".onnx")
		if st, err := os.Stat(file); err != nil || st.Size() < least {
			t.Errorf("%v, %v; want %d bytes", st, err, least)
		}
		if name == "segmentation" {
			continue
		}
		files.Embedding = file
		if err := diarize.Check(files); err != nil {
			t.Error(err)
		}
	}
}
