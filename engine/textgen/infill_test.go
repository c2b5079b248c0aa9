package textgen

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/token"
)

// infillModel reads ASCII, a token a character, and has these marks beside.
func infillModel(t *testing.T, context int, marks ...string) *Model {
	t.Helper()
	s := token.Spec{Model: "gpt2", Special: map[token.Role]token.ID{}, Merges: [][2]string{{"~", "~"}}}
	add := func(text string, k token.Kind) {
		s.Tokens, s.Kinds = append(s.Tokens, text), append(s.Kinds, k)
	}
	for c := '!'; c <= '~'; c++ {
		add(string(c), token.Normal)
	}
	add("Ġ", token.Normal)
	add("Ċ", token.Normal)
	add("~~", token.Normal)
	for _, m := range marks {
		if m == "<s>" {
			s.Special[token.BOS], s.AddBOS = token.ID(len(s.Tokens)), true
		}
		add(m, token.Control)
	}
	v, err := token.New(s)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(t.Context(), lm.Reader{ID: "m", Vocab: v, Tokens: len(s.Tokens), Context: context, Texts: lm.TextBudget()}, Templates{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var qwenMarks = []string{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"}

// TestInfill holds prompts against those of llama-server's /infill for the same vocabulary.
func TestInfill(t *testing.T) {
	files := []engine.File{{Name: "a.go", Text: "A"}, {Text: "B<|fim_prefix|>"}}
	for _, tt := range []struct {
		name  string
		marks []string
		ask   engine.InfillRequest
		want  string
	}{
		{"whole", qwenMarks, engine.InfillRequest{Prefix: "ab", Prompt: "c", Suffix: "de"}, "<|fim_prefix|>abc<|fim_suffix|>de<|fim_middle|>"},
		{"BOS", append([]string{"<s>"}, qwenMarks...), engine.InfillRequest{Prefix: "ab"}, "<s><|fim_prefix|>ab<|fim_suffix|><|fim_middle|>"},
		{"CodeLlama's", []string{"<PRE>", "<SUF>", "<MID>"}, engine.InfillRequest{Suffix: "b"}, "<PRE><SUF>b<MID>"},
		{"DeepSeek's", []string{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"}, engine.InfillRequest{Prefix: "a", Suffix: "b"}, "<｜fim▁begin｜>a<｜fim▁hole｜>b<｜fim▁end｜>"},
		{"marks in texts are text", qwenMarks, engine.InfillRequest{Prefix: "<|fim_suffix|>"}, "<|fim_prefix|><|fim_suffix|><|fim_suffix|><|fim_middle|>"},
		{"a repository", qwenMarks, engine.InfillRequest{Prefix: "p", Suffix: "s", Files: files, Cut: true},
			"<|repo_name|>myproject\n<|file_sep|>a.go\nA<|file_sep|>tmp\nB<|fim_prefix|><|file_sep|>filename\n<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"},
		{"a repository of none", append([]string{"<s>"}, qwenMarks...), engine.InfillRequest{Prefix: "p", Files: []engine.File{}, Cut: true},
			"<|repo_name|>myproject\n<|file_sep|>filename\n<s><|fim_prefix|>p<|fim_suffix|><|fim_middle|>"},
		{"files without a mark", qwenMarks[:3], engine.InfillRequest{Prefix: "p", Files: files[:1], Cut: true}, "\n\n--- snippet ---\n\nA<|fim_prefix|>p<|fim_suffix|><|fim_middle|>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := infillModel(t, 8192, tt.marks...)
			got, err := m.Infill(t.Context(), tt.ask)
			if err != nil || got.Text != tt.want {
				t.Fatalf("%q, %v; want %q", got.Text, err, tt.want)
			}
			texts := tt.ask.Prefix + tt.ask.Suffix
			for _, f := range tt.ask.Files {
				texts += f.Text
			}
			for _, mark := range tt.marks { // each stands as a token where it is not text
				id := m.Vocab.Special(token.BOS)
				if mark != "<s>" {
					id = m.Vocab.Encode(nil, mark, true)[0]
				}
				n := len(slices.DeleteFunc(slices.Clone(got.Tokens), func(x token.ID) bool { return x != id }))
				if want := strings.Count(tt.want, mark) - strings.Count(texts, mark); n != want {
					t.Errorf("%s is there %d times, want %d", mark, n, want)
				}
			}
		})
	}
}

// TestInfillCut: of texts that are too long what is nearest to the gap is kept, in
// llama-server's shares, and there is room for the reply.
func TestInfillCut(t *testing.T) {
	long := strings.Repeat("0123456789", 3000)
	for _, tt := range []struct {
		name                          string
		context, reply                int
		prompt                        string
		prefix, middle, suffix, files int
	}{
		{"a large context", 8192, 100, "", 1536, 0, 510, 8192 - 3 - 2048 - 200},
		{"with a prompt", 8192, 100, "xyz", 1536, 3, 507, 8192 - 3 - 2048 - 200},
		{"a long prompt", 8192, 100, long, 1024, 1024, 0, 8192 - 3 - 2048 - 200},
		{"a small context", 1024, 64, "", 717, 0, 237, 0},
		{"no limit", 1024, 0, "", 669, 0, 221, 0},
		{"hardly any context", 8, 64, "", 0, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := infillModel(t, tt.context, qwenMarks...)
			r := engine.InfillRequest{Prefix: "p" + long, Suffix: long + "s", Prompt: tt.prompt, Files: []engine.File{{Text: long}}, Cut: true, Reply: tt.reply}
			got, err := m.Infill(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			before, rest, _ := strings.Cut(got.Text, "<|fim_prefix|>")
			prefix, rest, _ := strings.Cut(rest, "<|fim_suffix|>")
			suffix, _, whole := strings.Cut(rest, "<|fim_middle|>")
			if n := len(prefix) - tt.middle; n != tt.prefix || len(suffix) != tt.suffix || !whole {
				t.Errorf("%d and %d of the texts, want %d and %d", n, len(suffix), tt.prefix, tt.suffix)
			}
			if !strings.HasSuffix(r.Prefix+r.Prompt[max(0, len(r.Prompt)-tt.middle):], prefix) || !strings.HasPrefix(r.Suffix, suffix) {
				t.Error("what is kept is not what is nearest")
			}
			if n := len(m.Vocab.Encode(nil, before, true)); n != tt.files {
				t.Errorf("%d tokens of files, want %d", n, tt.files)
			}
			if room := tt.context - len(got.Tokens); room < min(max(tt.reply, 1), tt.context/4) {
				t.Errorf("%d tokens of %d leave %d", len(got.Tokens), tt.context, room)
			}
		})
	}
}

func TestInfillRefused(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, tt := range []struct {
		name  string
		marks []string
		ask   engine.InfillRequest
		code  engine.Code
		param string
	}{
		{"no marks", nil, engine.InfillRequest{}, engine.CodeModelNotSupported, "model"},
		{"no marks, and a field", qwenMarks[:2], engine.InfillRequest{Param: "suffix"}, engine.CodeUnsupportedParam, "suffix"},
		{"a long prefix", qwenMarks, engine.InfillRequest{Prefix: long}, engine.CodeContextLength, ""},
		{"a long suffix", qwenMarks, engine.InfillRequest{Suffix: long}, engine.CodeContextLength, ""},
		{"both together", qwenMarks, engine.InfillRequest{Prefix: long[:130], Suffix: long[:130]}, engine.CodeContextLength, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := infillModel(t, 256, tt.marks...).Infill(t.Context(), tt.ask)
			var e *engine.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Param != tt.param {
				t.Errorf("got %v, want %s of %q", err, tt.code, tt.param)
			}
		})
	}
}
