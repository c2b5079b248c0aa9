package httpapi_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/asr/vad"
	"quern/engine/token"
	"quern/engine/tts"
)

const (
	testKey     = "test-key"
	chatModel   = "stub/chat:Q4_K_M"
	embedModel  = "stub-embed"
	baseModel   = "stub-base" // no chat template
	classModel  = "stub-class"
	fakeContext = 8192
)

// A fake is an engine whose tokens are words and whose replies are written
// here. Single methods can be replaced.
type fake struct {
	mu    sync.Mutex
	ids   map[string]token.ID
	words []string

	unloaded []string // models Unload was called for

	running atomic.Int64
	output  atomic.Int64
	last    atomic.Pointer[engine.GenerateRequest]
	seen    atomic.Pointer[engine.EmbedRequest]
	filled  atomic.Pointer[engine.InfillRequest]
	spoken  atomic.Pointer[engine.SpeakRequest]
	heard   atomic.Pointer[engine.TranscribeRequest]

	asked atomic.Pointer[string] // id of the model opened last

	load     func(ctx context.Context, model string) error
	generate func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool)
	embed    func(r engine.EmbedRequest) (engine.EmbedResult, error)
}

var fakeModels = []engine.ModelInfo{
	{
		ID: chatModel, Kind: engine.KindChat, Capabilities: []string{"chat", "completion"}, Created: time.Unix(1767000000, 0),
		ContextLength: fakeContext, Status: "loaded", Format: "gguf", Quantization: "Q4_K_M", SizeBytes: 2019377696, Fingerprint: "fp_fake",
	},
	{ID: "stub-chat", AliasOf: chatModel, Kind: engine.KindChat, Created: time.Unix(1767000000, 0), ContextLength: fakeContext, Status: "loaded"},
	{ID: embedModel, Kind: engine.KindEmbedding, Created: time.Unix(1767000001, 0), ContextLength: 512, Status: "unloaded", Format: "gguf"},
	{ID: classModel, Kind: engine.KindClassification, Capabilities: []string{"classification"}, Status: "unloaded", Format: "safetensors"},
	{ID: voiceModel, Kind: engine.KindSpeech, Capabilities: []string{"speech"}, Status: "loaded"},
	{ID: otherVoice, Kind: engine.KindSpeech, Capabilities: []string{"speech"}, Status: "unloaded"},
	{ID: earModel, Kind: engine.KindTranscription, Capabilities: []string{"transcription"}, Status: "loaded"},
	{ID: whoModel, Kind: engine.KindTranscription, Capabilities: []string{"transcription", engine.CapabilityDiarize}, Status: "unloaded", Undrawn: true},
	{ID: baseModel, Kind: engine.KindCompletion, Capabilities: []string{"completion", "embedding"}, Created: time.Unix(1767000002, 0), ContextLength: fakeContext, Status: "unloaded"},
}

func (f *fake) Models() []engine.ModelInfo { return fakeModels }

// A fakeModel is one that a fake serves.
type fakeModel struct {
	f    *fake
	info engine.ModelInfo
}

// Find knows models by their ids and aliases.
func (f *fake) Find(name string, kinds ...engine.Kind) (engine.Model, error) {
	info, err := f.find(name, kinds...)
	if err != nil {
		return nil, err
	}
	return fakeModel{f, info}, nil
}

func (m fakeModel) Info() engine.ModelInfo { return m.info }

// Detector implements engine.Model.
func (m fakeModel) Detector() (engine.Detector, error) { return vad.EnergyDetector{}, nil }

// CheckVoice implements engine.Model. The voices of otherVoice are not known.
func (m fakeModel) CheckVoice(voice string) error {
	if m.info.ID == otherVoice {
		return nil
	}
	return m.f.CheckVoice(voice, "")
}

// Unload implements engine.Model.
func (m fakeModel) Unload() error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.unloaded = append(m.f.unloaded, m.info.ID)
	return nil
}

// Needs says that the embedding model does not fit.
func (m fakeModel) Needs(context.Context) (engine.Needs, error) {
	n := engine.Needs{Bytes: 1 << 30, Limit: 2 << 30}
	if m.info.ID == embedModel {
		n.Bytes, n.Why = 4<<30, engine.Errorf(engine.CodeOutOfMemory, "", "model %q needs 4096 MiB; lower context_length", m.info.ID)
	}
	return n, nil
}

// Describe knows a template of chats.
func (m fakeModel) Describe(context.Context) (engine.Details, error) {
	d := engine.Details{BOS: "<s>", EOS: "</s>", Slots: 4, Parameters: 7_241_732_096}
	if m.info.Kind == engine.KindChat {
		d.Template, d.Infill, d.Thinks = "{{ messages }}", true, true
	}
	return d, nil
}

func (f *fake) find(name string, kinds ...engine.Kind) (engine.ModelInfo, error) {
	if name == "" {
		for _, k := range kinds {
			if i := slices.IndexFunc(fakeModels, func(m engine.ModelInfo) bool { return m.Kind == k }); i >= 0 {
				return fakeModels[i], nil
			}
		}
		return engine.ModelInfo{}, &engine.Error{Code: engine.CodeMissingParam, Param: "model", Message: "model is required"}
	}
	i := slices.IndexFunc(fakeModels, func(m engine.ModelInfo) bool { return m.ID == name })
	if i < 0 {
		return engine.ModelInfo{}, &engine.Error{Code: engine.CodeModelNotFound, Param: "model", Message: fmt.Sprintf("model %q does not exist; there is %s", name, chatModel)}
	}
	m := fakeModels[i]
	if m.AliasOf != "" {
		return f.find(m.AliasOf, kinds...)
	}
	able := func(k engine.Kind) bool { return m.Kind == k || slices.Contains(m.Capabilities, string(k)) }
	if len(kinds) > 0 && !slices.ContainsFunc(kinds, able) {
		return m, &engine.Error{Code: engine.CodeModelNotSupported, Param: "model", Message: fmt.Sprintf("model %q is of type %s, and this endpoint needs %s", m.ID, m.Kind, kinds[0])}
	}
	return m, nil
}

// actions are what a fake, or what stands on one, does with its models.
type actions interface {
	Defaults() engine.Sampling
	CheckVoice(voice, language string) error
	CheckConstraint(context.Context, *engine.Constraint) ([]string, error)
	Generate(context.Context, engine.GenerateRequest) iter.Seq2[engine.Event, error]
	Embed(context.Context, engine.EmbedRequest) (engine.EmbedResult, error)
	Rerank(context.Context, engine.RerankRequest) (engine.RerankResult, error)
	Classify(context.Context, engine.ClassifyRequest) (engine.ClassifyResult, error)
	Infill(context.Context, engine.InfillRequest) (engine.TokenizeResult, error)
	Tokenize(context.Context, engine.TokenizeRequest) (engine.TokenizeResult, error)
	Detokenize(context.Context, []token.ID) (iter.Seq[[]byte], error)
	Transcribe(context.Context, engine.TranscribeRequest) iter.Seq2[engine.Segment, error]
	Speak(context.Context, engine.SpeakRequest) iter.Seq2[engine.Speech, error]
}

// A fakeLease is a model of a fake.
type fakeLease struct {
	actions
	info engine.ModelInfo
}

func (l fakeLease) Info() engine.ModelInfo { return l.info }
func (l fakeLease) Stay(time.Duration)     {}
func (l fakeLease) Release()               {}

// lend leases one of f's models whose actions are those of a.
func (f *fake) lend(ctx context.Context, a actions, name string, kinds []engine.Kind) (engine.Lease, error) {
	info, err := f.find(name, kinds...)
	if err == nil {
		err = f.Load(ctx, info.ID)
	}
	if err != nil {
		return nil, err
	}
	f.asked.Store(&info.ID)
	return fakeLease{a, info}, nil
}

func (f *fake) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return f.lend(ctx, f, name, kinds)
}

const (
	voiceModel = "stub-voice"
	otherVoice = "stub-voice-2"
	earModel   = "stub-ear"
	whoModel   = "stub-ear-who"
)

var fakeVoices = []engine.Voice{
	{Voice: tts.Voice{ID: "af_bella", Name: "Bella", Language: "en-us", Gender: "female", Description: "American female"}, Model: voiceModel},
	{Voice: tts.Voice{ID: "bm_george", Name: "George", Language: "en-gb", Gender: "male", Description: "British male"}, Model: voiceModel},
	{Voice: tts.Voice{ID: "alloy", Name: "Alloy", Language: "en-us"}, Model: voiceModel, AliasOf: "af_bella"},
}

func (f *fake) Voices() []engine.Voice { return fakeVoices }

// CheckConstraint knows one schema that is wrong, and one that says something in vain.
func (f *fake) CheckConstraint(_ context.Context, c *engine.Constraint) ([]string, error) {
	switch {
	case strings.Contains(c.Source, "wrong"):
		return nil, engine.Errorf(engine.CodeInvalidSchema, c.Param+"/wrong", "%s/wrong: not a keyword", c.Param)
	case strings.Contains(c.Source, "vain"):
		return []string{"vain: not a keyword"}, nil
	}
	return nil, nil
}

func (f *fake) CheckVoice(voice, language string) error {
	if _, known := engine.LanguageOf(language); language == "it" || language != "" && !known {
		return engine.Errorf(engine.CodeInvalidValue, "lang_code", "the voice does not speak %q", language)
	}
	for _, v := range fakeVoices {
		if v.ID == voice {
			return nil
		}
	}
	return &engine.Error{Code: engine.CodeVoiceNotFound, Param: "voice", Message: fmt.Sprintf("there is no voice %q", voice)}
}

func (f *fake) Phonemize(_ context.Context, r engine.PhonemizeRequest) ([]engine.Pronunciation, error) {
	return []engine.Pronunciation{{Text: r.Text, End: len(r.Text), Phonemes: "hˈI", Source: "lexicon"}}, nil
}

func (f *fake) Load(ctx context.Context, model string) error {
	if f.load != nil {
		return f.load(ctx, model)
	}
	return ctx.Err()
}

func (f *fake) Defaults() engine.Sampling { return engine.Sampling{} }

var wordRE = regexp.MustCompile(`\s?\S+|\s+`)

func (f *fake) encode(s string) []token.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids == nil {
		f.ids = map[string]token.ID{}
	}
	var out []token.ID
	for _, w := range wordRE.FindAllString(s, -1) {
		id, ok := f.ids[w]
		if !ok {
			id = token.ID(1000 + len(f.words))
			f.ids[w] = id
			f.words = append(f.words, w)
		}
		out = append(out, id)
	}
	return out
}

func (f *fake) word(id token.ID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := int(id) - 1000; i >= 0 && i < len(f.words) {
		return f.words[i]
	}
	return fmt.Sprintf("<%d>", id)
}

func (f *fake) prompt(p engine.Prompt) (ids []token.ID, text string) {
	switch {
	case p.Messages != nil:
		var b strings.Builder
		for _, m := range p.Messages {
			fmt.Fprintf(&b, "<|%s|> %s", m.Role, m.Text)
			for _, part := range m.Parts {
				b.WriteString(part.Text)
			}
			b.WriteString("\n")
		}
		text = b.String()
	case p.Tokens != nil:
		for _, id := range p.Tokens {
			text += f.word(id)
		}
		return p.Tokens, text
	default:
		text = p.Text
	}
	return f.encode(text), text
}

var replyWords = strings.SplitAfter("The fox is asleep, na\u00efve caf\u00e9 \u65e5\u672c\u8a9e \U0001F98A and one two three four five six seven eight ", " ")

func (f *fake) logprob(w string, top int) engine.Logprob {
	lp := engine.Logprob{ID: f.encode(w)[0], Bytes: []byte(w), Logprob: -0.25}
	for i := range top {
		alt := engine.Alternative{ID: token.ID(i), Bytes: []byte(fmt.Sprintf("alt%d", i)), Logprob: -1 - float32(i)}
		if i == 0 {
			alt = engine.Alternative{ID: lp.ID, Bytes: lp.Bytes, Logprob: lp.Logprob}
		}
		if i == 2 {
			alt.Logprob = float32(math.Inf(-1))
		}
		lp.Top = append(lp.Top, alt)
	}
	return lp
}

func (f *fake) Generate(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		f.last.Store(&r)
		f.running.Add(int64(max(r.N, 1)))
		defer f.running.Add(-int64(max(r.N, 1)))
		if f.generate != nil {
			f.generate(ctx, r, yield)
			return
		}
		f.reply(ctx, r, yield)
	}
}

// reply says the reply words, turned by the number of the sequence.
func (f *fake) reply(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
	ids, text := f.prompt(r.Prompt)
	if len(ids) >= fakeContext {
		yield(engine.Event{}, &engine.Error{Code: engine.CodeContextLength, Param: r.Prompt.Field(), Message: fmt.Sprintf("the prompt is %d tokens; the context of this model is %d", len(ids), fakeContext)})
		return
	}
	if !yield(engine.Event{Type: engine.Admitted, PromptTokens: len(ids), Constrained: r.ToolChoice.Required || r.ToolChoice.Names != nil}, nil) {
		return
	}
	done := engine.Event{Type: engine.PromptDone, PromptTokens: len(ids), CachedTokens: len(ids) / 2}
	if r.PromptLogprobs {
		for i, id := range ids {
			lp := f.logprob(f.word(id), r.Sample.Top)
			if i == 0 {
				lp.Logprob, lp.Top = 0, nil
			}
			done.Prompt = append(done.Prompt, lp)
		}
	}
	if !yield(done, nil) {
		return
	}
	limit := 18
	if strings.Contains(text, "long") {
		limit = 5000
	}
	reason := engine.ReasonStop
	if r.MaxTokens > 0 && r.MaxTokens < limit {
		limit, reason = r.MaxTokens, engine.ReasonLength
	}
	if r.NoTokens {
		limit, reason = 0, engine.ReasonLength
	}
	n, output := max(r.N, 1), 0
	type seq struct {
		words  []string
		reason string
		stop   any
	}
	seqs := make([]seq, n)
	for j := range seqs {
		all := ""
		seqs[j].reason = reason
	words:
		for k := range limit {
			w := replyWords[(j+k)%len(replyWords)]
			if w == "" {
				w = "so "
			}
			for _, s := range r.Stop {
				if i := strings.Index(all+w, s); i >= 0 {
					if i > len(all) {
						seqs[j].words = append(seqs[j].words, (all + w)[len(all):i])
					}
					seqs[j].reason, seqs[j].stop = engine.ReasonStop, s
					break words
				}
			}
			all += w
			seqs[j].words = append(seqs[j].words, w)
		}
	}
	for k := range limit {
		for j := range seqs {
			if k >= len(seqs[j].words) {
				continue
			}
			if strings.Contains(text, "long") {
				select {
				case <-time.After(2 * time.Millisecond):
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				yield(engine.Event{}, ctx.Err())
				return
			}
			if k == 3 && strings.Contains(text, "fail in the stream") {
				yield(engine.Event{}, &engine.Error{Code: engine.CodeEngineFailure, Message: "the model stopped unexpectedly"})
				return
			}
			ev := engine.Event{Type: engine.Delta, Index: j, Text: seqs[j].words[k]}
			if r.Sample.Logprobs {
				ev.Logprobs = []engine.Logprob{f.logprob(ev.Text, r.Sample.Top)}
			}
			output++
			f.output.Add(1)
			if !yield(ev, nil) {
				return
			}
		}
	}
	for j := range seqs {
		ev := engine.Event{Type: engine.Finish, Index: j, Reason: seqs[j].reason, StopReason: seqs[j].stop, Tokens: len(seqs[j].words), Cumulative: -0.25 * float64(n-j) * float64(len(seqs[j].words))}
		if !yield(ev, nil) {
			return
		}
	}
	yield(engine.Event{
		Type: engine.Done, PromptTokens: len(ids), CachedTokens: len(ids) / 2, OutputTokens: output,
		Timings: engine.Timings{Queue: 200 * time.Microsecond, Prompt: 18 * time.Millisecond, Predict: 71 * time.Millisecond, First: 19 * time.Millisecond},
	}, nil)
}

func (f *fake) Embed(ctx context.Context, r engine.EmbedRequest) (engine.EmbedResult, error) {
	f.seen.Store(&r)
	if f.embed != nil {
		return f.embed(r)
	}
	var res engine.EmbedResult
	size := 96
	if r.Dimensions > 0 {
		size = r.Dimensions
	}
	for _, in := range r.Inputs {
		seed := sha256.Sum256([]byte(in.Text + fmt.Sprint(in.Tokens)))
		v := make([]float32, size)
		sum := 0.0
		for i := range v {
			v[i] = float32(seed[i%len(seed)]) - 127.5
			sum += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		res.Vectors = append(res.Vectors, v)
		res.PromptTokens += max(len(in.Tokens), len(f.encode(in.Text)))
	}
	return res, ctx.Err()
}

func (f *fake) Tokenize(ctx context.Context, r engine.TokenizeRequest) (engine.TokenizeResult, error) {
	ids, text := f.prompt(r.Prompt)
	spell := func(id token.ID) []byte { return []byte(f.word(id)) }
	return engine.TokenizeResult{Tokens: ids, Bytes: spell, Text: text, Context: fakeContext}, ctx.Err()
}

func (f *fake) Detokenize(ctx context.Context, ids []token.ID) (iter.Seq[[]byte], error) {
	_, text := f.prompt(engine.Prompt{Tokens: ids})
	return slices.Values([][]byte{[]byte(text)}), ctx.Err()
}

func (f *fake) Stats() engine.Stats {
	return engine.Stats{Models: []engine.ModelStats{{
		Model: chatModel, Kind: engine.KindChat, Running: int(f.running.Load()), Slots: 4, Blocks: 64, BlocksUsed: 16, BlockSize: 16,
		PromptTokens: 100, GeneratedTokens: f.output.Load(), LoadSeconds: 1.5, WeightBytes: 1 << 20, CacheBytes: 1 << 16,
		Drafts: 5, DraftTokens: 40, AcceptedTokens: 9, AcceptedAt: []int64{5, 4},
	}}}
}
