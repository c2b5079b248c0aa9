package main

import (
	"context"
	"math/rand/v2"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/asr/diarize"
	"quern/engine/asr/speakers"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
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
	for _, c := range conversations(60, 1) {
		if c.noise == 0 {
			continue
		}
		x, truth := c.play(voices)
		r, err := tell(t.Context(), m, x)
		if err != nil {
			t.Fatal(err)
		}
		if e := (speakers.Scoring{}).Rate(truth, r.Turns); e.DER() > 0.1 || e.Total < 30 {
			t.Errorf("%d speakers at %d Hz: DER %.3f of %.0f s, %d found", c.speakers, c.rate, e.DER(), e.Total, len(r.Names))
		}
	}
}

// Networks of published size are known by quern for what they are.
func TestNetworks(t *testing.T) {
	for name, c := range map[string]struct {
		record func(*writer)
		least  int // bytes
	}{"segmentation": {segmentation, 5 << 20}, "embedding": {campplus, 25 << 20}} {
		w := &writer{onnxtest.New(17), rand.New(rand.NewPCG(1, 2))}
		c.record(w)
		if n := len(w.Bytes()); n < c.least {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	if err := diarize.Check(diarize.Files{Segmentation: dir + "/segmentation.onnx", Embedding: dir + "/campplus.onnx"}); err != nil {
		t.Error(err)
	}
}
