package asr

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quern/engine/cpu"
	"quern/engine/token"
	"quern/formats"
	"quern/formats/ggml"
	"quern/formats/weights"
	"quern/kernels/quant"
)

const tinyConfig = `{"model_type": "whisper", "d_model": 8, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 16,
"decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 16, "num_mel_bins": 80, "max_source_positions": 1500,
"max_target_positions": 448, "vocab_size": 60, "activation_function": "gelu"}`

const tinyGeneration = `{"alignment_heads": [[0, 1], [7, 7]], "suppress_tokens": [-1, 3], "lang_to_id": {"<|en|>": 12, "<|de|>": 13},
"task_to_id": {"transcribe": 15, "translate": 14}, "no_timestamps_token_id": 19, "max_initial_timestamp_index": 50}`

// spelled is a vocabulary of special tokens from 10 on.
type spelled []string

var tinyVocab = spelled{"<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"}

func (v spelled) encode(string) []token.ID { return []token.ID{1, 100} }
func (v spelled) word(string) []token.ID   { return []token.ID{2} }
func (v spelled) bytes(token.ID) []byte    { return nil }
func (v spelled) lookup(text string) (token.ID, bool) {
	for i, t := range v {
		if t == text {
			return token.ID(10 + i), true
		}
	}
	return 0, false
}

// settle reads all that a Hugging Face directory says of a model.
func settle(config, gen string) (*Model, error) {
	set := new(weights.Set)
	set.Meta.Set("hf.config", config)
	set.Meta.Set("hf.generation_config", gen)
	m := &Model{vocab: tinyVocab}
	var err error
	if m.config, err = configOf(set); err != nil {
		return nil, err
	}
	g, err := generationOf(set)
	if err != nil {
		return nil, err
	}
	if m.special, err = specialsOf(&m.config, &g, m.vocab); err != nil {
		return nil, err
	}
	m.heads = alignmentHeads(&m.config, g.Heads)
	m.suppress, m.begin = m.suppressed(&g)
	return m, nil
}

func TestConfig(t *testing.T) {
	m, err := settle(tinyConfig, tinyGeneration)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.heads) != 1 || m.heads[0] != (head{0, 1}) {
		t.Errorf("alignment heads %v", m.heads)
	}
	if m.special.stamp0 != 20 || m.special.languages["de"] != 13 || !m.Multilingual() {
		t.Errorf("special tokens %+v", m.special)
	}
	for _, tt := range []struct {
		name, config, gen, want string
		is                      error
	}{
		{"no JSON", "{", "", "config.json", ErrFormat},
		{"another model", `{"model_type": "bert"}`, "", `type "bert"`, ErrUnsupported},
		{"heads", strings.Replace(tinyConfig, `attention_heads": 2`, `attention_heads": 3`, 1), "", "with 3 heads", ErrFormat},
		{"layers", strings.Replace(tinyConfig, `encoder_layers": 1`, `encoder_layers": 1000000`, 1), "", "1000000 layers", ErrFormat},
		{"activation", strings.Replace(tinyConfig, `"gelu"`, `"relu"`, 1), "", `activation "relu"`, ErrUnsupported},
		{"short window", strings.Replace(tinyConfig, "1500", "5", 1), "", "windows of 10 frames", ErrUnsupported},
		{"a token too far", tinyConfig, `{"no_timestamps_token_id": 60}`, "number 60 of 60", ErrFormat},
		{"times too early", tinyConfig, `{"no_timestamps_token_id": 5}`, "times begin at token 6", ErrFormat},
	} {
		if _, err := settle(tt.config, tt.gen); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %v with %q", tt.name, err, tt.is, tt.want)
		}
	}
}

// A file that promises more than it has is refused by name.
func TestMissingTensors(t *testing.T) {
	set := new(weights.Set)
	set.Meta.Set("hf.config", tinyConfig)
	c, err := configOf(set)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parametersOf(set, &c); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "model.encoder.conv1.weight") {
		t.Errorf("error %v", err)
	}
	set.Add(&weights.Tensor{Name: "model.encoder.conv1.weight", Type: quant.F32, Shape: []int{8, 3, 80}, Data: make([]byte, 4*8*3*80)})
	if _, err := parametersOf(set, &c); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "[8 3 80], want [8 80 3]") {
		t.Errorf("error %v", err)
	}
}

// The vocabularies of all published ggml files.
func TestRankedVocabulary(t *testing.T) {
	for _, tt := range []struct {
		name          string
		stored, vocab int
		first         string
		languages     int
	}{
		{"English", 50256, 51864, "<|endoftext|>", 99},
		{"multilingual", 50257, 51865, "<|endoftext|>", 99},
		{"large-v3", 50257, 51866, "<|endoftext|>", 100},
	} {
		list, err := ggmlSpecials(tt.stored, tt.vocab)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if len(list) != tt.vocab-tt.stored || list[0] != tt.first || list[2+tt.languages] != "<|translate|>" || list[len(list)-1] != "<|30.00|>" {
			t.Errorf("%s: %d special tokens, %q, %q, %q", tt.name, len(list), list[0], list[2+tt.languages], list[len(list)-1])
		}
	}
	if _, err := ggmlSpecials(100, 200); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a tiny vocabulary: %v", err)
	}
	// Text of the published vocabulary, against tokens of the reference.
	set, err := ggml.Open(shared(t, "whisper/ggml-tiny-f16.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	v, err := vocabularyOf(set, 51865)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]token.ID{
		" and so my fellow Americans,": {293, 370, 452, 7177, 6280, 11},
		" ":                            {220},
	} {
		if got := v.encode(text); !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"♪♪♪", " ((", " --", "「"} {
		if a, b := v.word(text), v.encode(text); !slices.Equal(a, b) {
			t.Errorf("%q is %v as a word, %v as a text", text, a, b)
		}
	}
}

// The tokenizer.json of published models puts four tokens around a text, and
// spells times as tokens that text may hold.
func TestPostProcessor(t *testing.T) {
	set, err := formats.Open(shared(t, "whisper/hf_tiny"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	text := set.Meta.String("hf.tokenizer")
	at := strings.LastIndex(text, "}")
	set.Meta.Set("hf.tokenizer", text[:at]+`, "post_processor": {"type": "TemplateProcessing",
"single": [{"SpecialToken": {"id": "<|startoftranscript|>", "type_id": 0}}, {"SpecialToken": {"id": "<|notimestamps|>", "type_id": 0}},
{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}],
"special_tokens": {"<|startoftranscript|>": {"ids": [1001]}, "<|notimestamps|>": {"ids": [1106]}, "<|endoftext|>": {"ids": [1000]}}}}`)
	b := cpu.Open(1)
	defer b.Close()
	m, err := New(t.Context(), set, b, exact)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got, want := m.encodeText("and so <|0.00|><|en|>"), m.vocab.encode(" and so "); len(got) == 0 || slices.Max(got) >= m.special.eot || got[0] != want[0] {
		t.Errorf("a prompt is %v", got)
	}
}

func TestWhatModelsCannot(t *testing.T) {
	distil := config{vocab: 51865, decoder: stack{layers: 2, width: 1280}}
	turbo := config{vocab: 51866, decoder: stack{layers: 4, width: 1280}}
	distil3 := config{vocab: 51866, decoder: stack{layers: 2, width: 1280}}
	tiny := config{vocab: 51865, decoder: stack{layers: 4, width: 384}}
	if !distil.distilled() || distil3.distilled() || turbo.distilled() || !turbo.turbo() || tiny.turbo() {
		t.Error("models are taken for others")
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(tinyConfig, tinyGeneration)
	f.Add(tinyConfig, "{}")
	f.Fuzz(func(t *testing.T, config, gen string) {
		m, err := settle(config, gen)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("error %v wraps no sentinel", err)
			}
			return
		}
		for _, ids := range [][]token.ID{m.suppress, m.begin, m.start("en", false, false)} {
			for _, id := range ids {
				if id < 0 || int(id) >= m.config.vocab {
					t.Errorf("token %d of %d", id, m.config.vocab)
				}
			}
		}
		for _, h := range m.heads {
			if h.layer >= m.config.decoder.layers || h.head >= m.config.decoder.heads {
				t.Errorf("head %v", h)
			}
		}
	})
}
