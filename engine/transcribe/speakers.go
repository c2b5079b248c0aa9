package transcribe

import (
	"context"
	"io"

	"quern/engine"
	"quern/engine/asr/audio"
	"quern/engine/asr/diarize"
)

// CheckSpeakers reads the metadata of the networks of diarization, and
// refuses those that do not fit. Those not given are not read.
func CheckSpeakers(d engine.Diarizer) error { return diarize.Check(diarize.Files(d)) }

// OpenSpeakers loads them.
func OpenSpeakers(ctx context.Context, d engine.Diarizer, compile diarize.Compiler) (*diarize.Model, error) {
	return diarize.Open(ctx, diarize.Files(d), compile)
}

// CannotTell is the error that a model has no networks of diarization.
func CannotTell(model string) error {
	return engine.Errorf(engine.CodeUnsupportedParam, "diarize", "model %q cannot tell who speaks: set diarize (segmentation and embedding) for it, or leave speakers out", model)
}

// tapped is a source that passes what the recogniser reads to diarization too. That computes
// within the recogniser's Read, so neither gets ahead of the other and nothing is kept twice.
type tapped struct {
	audio.Source
	each func(x []float32) error
	end  bool
}

// Read implements audio.Source.
func (h *tapped) Read(dst []float32) (int, error) {
	n, err := h.Source.Read(dst)
	if n > 0 && n <= len(dst) {
		audio.Clean(dst[:n])
		if failed := h.each(dst[:n]); failed != nil {
			return n, failed
		}
	}
	h.end = h.end || err == io.EOF
	return n, err
}

// rest reads the sound that the recogniser has left unread.
func (h *tapped) rest(ctx context.Context) error {
	read := audio.NewReader(h)
	for x := make([]float32, audio.Block); !h.end; {
		if _, err := read(ctx, x); err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}
