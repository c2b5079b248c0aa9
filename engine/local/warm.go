package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/asr/audio"
	"quern/engine/catalog"
)

// Warm runs a little work on every model that Preload has loaded, one after another, so that
// memory is touched and buffers are made before the first request: a token, a vector, a
// score, a short text spoken, a second of silence listened to.
func (e *Engine) Warm(ctx context.Context) error {
	for _, n := range e.catalog.List() {
		if !n.Options.Preloads() {
			continue
		}
		start := time.Now()
		if err := e.warm(ctx, n); err != nil {
			return fmt.Errorf("model %q does not answer: %w", n.ID, err)
		}
		e.log.InfoContext(ctx, "model warmed up", "model", n.ID, "took", time.Since(start))
	}
	return nil
}

func (e *Engine) warm(ctx context.Context, n *catalog.Entry) error {
	l, err := e.Open(ctx, n.ID)
	if err != nil {
		return err
	}
	defer l.Release()
	switch n.About().Kind {
	case engine.KindEmbedding:
		_, err = l.Embed(ctx, engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: warmText}}})
	case engine.KindRerank:
		_, err = l.Rerank(ctx, engine.RerankRequest{Query: warmText, Documents: []string{warmText}})
	case engine.KindSpeech:
		voices := n.About().Voices
		if len(voices) == 0 {
			return n.About().Mute
		}
		for _, err = range l.Speak(ctx, engine.SpeakRequest{Text: warmText, Voice: voices[0].ID}) {
			if err != nil {
				break
			}
		}
	case engine.KindTranscription:
		silence := make(audio.Samples, engine.HearingRate)
		for _, err = range l.Transcribe(ctx, engine.TranscribeRequest{Source: &silence, AllSound: true}) {
			if err != nil {
				break
			}
		}
	default:
		// Steps of a prompt and of one row are of different functions.
		for _, err = range l.Generate(ctx, engine.GenerateRequest{Prompt: engine.Prompt{Text: strings.Repeat(warmText+" ", 8)}, MaxTokens: 4, IgnoreEOS: true, NoPromptCache: true}) {
			if err != nil {
				break
			}
		}
	}
	return err
}

const warmText = "Hello"
