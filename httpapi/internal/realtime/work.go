package realtime

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"quern/codecs"
	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/turn"
)

// safely is work; a panic in it is a failure of the response.
func (r *response) safely(ctx context.Context) (status string, details any) {
	var err error
	func() {
		defer fault.Recovered(&err)
		status, details = r.work(ctx)
	}()
	if err != nil {
		return r.failed(ctx, err)
	}
	return status, details
}

// work makes the reply, beside the session's goroutine.
func (r *response) work(ctx context.Context) (status string, details any) {
	if err := r.await(ctx); err != nil {
		return r.failed(ctx, err)
	}
	var ask []chat.Message
	var err error
	silent := false
	if s := r.s.main(ctx, func() { ask, silent, err = r.prompt() }); s != nil {
		err = s
	}
	switch {
	case err != nil:
		return r.failed(ctx, err)
	case silent:
		return completed, null // a noise, and no words
	}
	reason, err := r.reply(ctx, ask)
	switch {
	case err != nil:
		return r.failed(ctx, err)
	case reason == engine.ReasonLength:
		return incomplete, object{"type": incomplete, "reason": "max_output_tokens"}
	}
	return completed, null
}

// await waits until what is answered is text.
func (r *response) await(ctx context.Context) error {
	for _, it := range r.input {
		if it.written == nil {
			continue
		}
		select {
		case <-it.written:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// prompt is what the model is asked; silent says that the turn has no words.
func (r *response) prompt() (ask []chat.Message, silent bool, err error) {
	if n := len(r.input); n > 0 && r.input[n-1].written != nil {
		last := r.input[n-1]
		r.times.ended, r.times.written = last.ended, last.known
		switch {
		case last.failure != nil:
			return nil, false, last.failure
		case r.auto && strings.TrimSpace(last.words()) == "":
			return nil, true, nil
		}
	}
	ask = messages(r.cfg.instructions, r.input)
	if len(ask) == 0 {
		return nil, false, fault.New(engine.CodeInvalidValue, "", "there is nothing to answer; add an item or instructions first")
	}
	return ask, false, nil
}

// request is what the model is asked, all told.
func (r *response) request(messages []chat.Message, d engine.Sampling) engine.GenerateRequest {
	q := ask.Chat{Sampling: ask.Sampling{MaxTokens: r.cfg.maxTokens, Temperature: r.cfg.temperature, Seed: ask.Random()}}
	q.Prompt.Messages, q.Prompt.AutoShorten = messages, !r.cfg.whole
	q.Prompt.Tools, q.Calls = r.cfg.prompted()
	q.Budget = r.cfg.thinks.Apply(r.s.api.Options.ReasoningBudgets, &q.Prompt)
	return q.Request(d, r.s.api.Options.DefaultMaxTokens)
}

// reply has the model answer and, where replies are spoken, a voice speak beside it.
//
// The voice is opened first and both are held. Where there is memory for one of them
// only, the reply is spoken when it is whole.
func (r *response) reply(ctx context.Context, ask []chat.Message) (reason string, err error) {
	a := r.s.api
	var voice engine.Lease
	if r.cfg.sound {
		if voice, err = r.openVoice(ctx); err != nil {
			return "", err
		}
		defer func() { voice.Release() }()
	}
	model, err := a.Open(ctx, r.cfg.model, engine.KindChat)
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.Code == engine.CodeOutOfMemory && voice != nil {
		voice.Release()
		if model, err = a.Open(ctx, r.cfg.model, engine.KindChat); err != nil {
			return "", err
		}
		var all []sentence
		reason, err = r.generate(ctx, model, ask, func(list []sentence) error {
			all = append(all, list...)
			return nil
		})
		model.Release()
		if err != nil {
			return "", err
		}
		if voice, err = r.openVoice(ctx); err != nil {
			return "", err
		}
		whole := make(chan sentence, len(all))
		for _, p := range all {
			whole <- p
		}
		close(whole)
		return reason, r.speak(ctx, voice, whole)
	}
	if err != nil {
		return "", err
	}
	defer model.Release()
	if voice == nil {
		return r.generate(ctx, model, ask, func([]sentence) error { return nil })
	}

	// The model may be so many sentences ahead of the voice.
	queue := make(chan sentence, 32)
	speaking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	spoken := make(chan struct{})
	go func() {
		defer close(spoken)
		if err := r.speak(speaking, voice, queue); err != nil {
			stop(err)
		}
	}()
	reason, err = r.generate(speaking, model, ask, func(list []sentence) error {
		for _, p := range list {
			select {
			case queue <- p:
			case <-speaking.Done():
				return context.Cause(speaking)
			}
		}
		return nil
	})
	close(queue)
	if err != nil && context.Cause(speaking) == nil {
		stop(err)
	}
	model.Release()
	<-spoken
	if cause := context.Cause(speaking); cause != nil {
		err = cause
	}
	return reason, err
}

// openVoice opens what speaks, and settles the voice.
func (r *response) openVoice(ctx context.Context) (engine.Lease, error) {
	a := r.s.api
	voice := r.cfg.voice
	l, err := a.Open(ctx, a.speaker(&r.cfg), engine.KindSpeech)
	if err != nil {
		return nil, err
	}
	if voice == "" {
		voice = usualVoice
		if l.CheckVoice(voice, "") != nil {
			for _, v := range a.Options.Engine.Voices() {
				if v.Model == l.Info().ID {
					voice = v.ID
					break
				}
			}
		}
	}
	if err := l.CheckVoice(voice, ""); err != nil {
		l.Release()
		return nil, fault.Classify(ctx, err)
	}
	if err := r.s.main(ctx, func() { r.cfg.voice = voice }); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

// generate has the model answer, and gives the sentences of the reply to each as they
// become whole.
func (r *response) generate(ctx context.Context, l engine.Lease, ask []chat.Message, each func([]sentence) error) (reason string, err error) {
	t := turn.Start(ctx, r.s.api.Metrics, l, turn.Request{Prompts: 1, Sequences: 1, At: func(int) engine.GenerateRequest { return r.request(ask, l.Defaults()) }})
	defer t.Close()
	var cutter sentences
	count := func() { r.used = t.SoFar() }
	err = t.Each(ctx, 0, func(ev turn.Event) error {
		switch ev.Type {
		case engine.Delta:
			if err := r.s.main(ctx, func() { count(); r.say(ev.Text) }); err != nil {
				return err
			}
			return each(cutter.push(ev.Text))
		case engine.CallStart, engine.CallDelta, engine.CallEnd:
			return r.s.main(ctx, func() { count(); r.called(ev.Event) })
		case engine.Finish:
			reason = ev.Reason
			return r.s.main(ctx, count)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return reason, each(cutter.end())
}

// pause is the silence between two sentences, in seconds at speed 1.
const pause = 0.35

// speak speaks sentences as they come.
func (r *response) speak(ctx context.Context, l engine.Lease, queue <-chan sentence) (err error) {
	defer fault.Recovered(&err)
	v := &speaker{r: r, ctx: ctx}
	for {
		var p sentence
		var more bool
		select {
		case p, more = <-queue:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !more {
			return v.end()
		}
		ask := engine.SpeakRequest{Text: p.text, Voice: r.cfg.voice, Speed: r.cfg.speed}
		from := -1
		for chunk, err := range l.Speak(ctx, ask) {
			if err != nil {
				return fault.Classify(ctx, err)
			}
			if from < 0 {
				if err := v.begin(chunk.Rate); err != nil {
					return err
				}
				from = v.samples
			}
			if err := v.write(chunk, from, p.at); err != nil {
				return err
			}
		}
	}
}

// A speaker turns what a voice says into sound of the session's format.
type speaker struct {
	r       *response
	ctx     context.Context
	enc     codecs.Encoder
	buf     bytes.Buffer
	rate    int
	samples int // so far
}

// begin begins a sentence, which a pause parts from the one before.
func (v *speaker) begin(rate int) error {
	if v.enc == nil {
		f := v.r.cfg.out
		kind, err := codecs.EncodingByName(f.encoding)
		if err != nil {
			return err
		}
		v.rate = rate
		v.enc, err = kind.Create(&v.buf, rate, 1, codecs.EncodeOptions{Rate: f.rate, Speech: true, Streamed: true})
		return err
	}
	n := int(pause * float64(v.rate) / v.r.cfg.speed)
	v.samples += n
	return v.enc.Write(make([]float32, n))
}

// write sends a chunk of a sentence that began at a sample and at a byte of the text.
func (v *speaker) write(chunk engine.Speech, from, at int) error {
	if err := v.enc.Write(chunk.Samples); err != nil {
		return err
	}
	v.samples += len(chunk.Samples)
	v.r.s.api.Metrics.Heard(metrics.AudioOut, float64(len(chunk.Samples))/float64(v.rate))
	marks := make([]mark, 0, len(chunk.Words))
	for _, w := range chunk.Words {
		marks = append(marks, mark{from*1000/v.rate + int(w.To*1000), at + w.End})
	}
	return v.send(marks)
}

// end sends what the encoder holds.
func (v *speaker) end() error {
	if v.enc == nil {
		return nil
	}
	if err := v.enc.Close(); err != nil {
		return err
	}
	return v.send(nil)
}

// deltaBytes is the most sound of one event.
const deltaBytes = 32 << 10

// send hands the sound made so far to the session.
func (v *speaker) send(marks []mark) error {
	ms := v.samples * 1000 / v.rate
	for {
		b := bytes.Clone(v.buf.Next(deltaBytes))
		if err := v.r.s.main(v.ctx, func() { v.r.sound(b, ms, marks) }); err != nil {
			return err
		}
		marks = nil
		if v.buf.Len() == 0 {
			return nil
		}
	}
}
