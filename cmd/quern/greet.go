package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dustin/go-humanize"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine"
	"quern/engine/local"
)

// greetings are the requests to try with a model of each kind, the most
// likely one first. The lines work as they are printed, in a POSIX shell.
var greetings = []struct {
	kind engine.Kind
	is   string // "… by MODEL"
	try  func(g *greeting, m engine.ModelInfo) string
}{
	{engine.KindChat, "Chat is answered", func(g *greeting, m engine.ModelInfo) string {
		return g.post("/v1/chat/completions", "", g.body(m, "messages", []map[string]string{{"role": "user", "content": "What is the capital of France?"}}))
	}},
	{engine.KindCompletion, "Texts are continued", func(g *greeting, m engine.ModelInfo) string {
		return g.post("/v1/completions", "", g.body(m, "prompt", "The capital of France is"))
	}},
	{engine.KindEmbedding, "Texts are embedded", func(g *greeting, m engine.ModelInfo) string {
		return g.post("/v1/embeddings", "", g.body(m, "input", "Paris is the capital of France."))
	}},
	{engine.KindRerank, "Documents are ranked", func(g *greeting, m engine.ModelInfo) string {
		return g.post("/v1/rerank", "", g.body(m, "query", "capital of France", "documents", []string{"Paris is the capital of France.", "Rome is in Italy."}))
	}},
	{engine.KindClassification, "Texts are classified", func(g *greeting, m engine.ModelInfo) string {
		return g.post("/v1/classify", "", g.body(m, "input", "What a lovely day."))
	}},
	{engine.KindTranscription, "Speech is written down", func(g *greeting, m engine.ModelInfo) string {
		// The built-in voice makes the recording, so that no file is needed.
		transcribe := g.curl("/v1/audio/transcriptions") + " -F file=@- -F " + quote("model="+m.ID)
		models := g.e.Models()
		i := slices.IndexFunc(models, func(v engine.ModelInfo) bool { return v.Kind == engine.KindSpeech }) // there is always one
		return g.speak(models[i], "-s") + " |\n  " + transcribe
	}},
	{engine.KindSpeech, "Texts are spoken", func(g *greeting, m engine.ModelInfo) string {
		return g.speak(m, "-o hello.mp3")
	}},
}

// A greeting says how to ask a server.
type greeting struct {
	e    *local.Engine
	base string // of the address
	via  string // options of curl that lead there, with a space behind them
	key  string // header, or ""
}

// greet prints which model answers, and a request to try.
func (a *app) greet(e *local.Engine, base string, s *settings.Loaded) {
	g := &greeting{e: e, base: base}
	if path, ok := strings.CutPrefix(s.Listen, settings.Unix); ok {
		g.via = "--unix-socket " + shellWord(path) + " "
	}
	intro := "Try:"
	if len(s.Auth.Keys) > 0 {
		g.key, intro = ` -H "Authorization: Bearer $QUERN_API_KEY"`, "Try, with a key in QUERN_API_KEY:"
	}
	models := e.Models()
	for _, t := range greetings {
		var info engine.ModelInfo
		m, err := e.Find("", t.kind)
		if err == nil {
			info = m.Info()
			fmt.Fprintf(a.out, "%s by %s\n", t.is, describeModel(info))
		} else {
			// None, or several.
			for _, m := range models {
				if m.Kind == t.kind {
					info, err = m, nil
					break
				}
			}
			if err != nil {
				continue
			}
			var names []string
			for _, m := range models {
				names = append(names, terminal.Plain(m.ID))
			}
			fmt.Fprintf(a.out, "Models: %s\n", strings.Join(names, ", "))
		}
		fmt.Fprintf(a.out, "%s\n  %s\n", intro, t.try(g, info))
		return
	}
}

// named reports whether requests must name m: without a name, another model answers.
func (g *greeting) named(m engine.ModelInfo) bool {
	d, err := g.e.Find("", m.Kind)
	return err != nil || d.Info().ID != m.ID
}

// body is a request's JSON: the model where it has to be named, and pairs of fields.
func (g *greeting) body(m engine.ModelInfo, fields ...any) string {
	b := map[string]any{}
	if g.named(m) {
		b["model"] = m.ID
	}
	for i := 0; i < len(fields); i += 2 {
		b[fields[i].(string)] = fields[i+1]
	}
	// The body is our own, and all of it can be written as JSON.
	var text strings.Builder
	if err := writeJSON(&text, b); err != nil {
		panic(err)
	}
	return strings.TrimSpace(text.String())
}

func (g *greeting) curl(path string) string { return "curl " + g.via + g.base + path + g.key }

func (g *greeting) post(path, options, body string) string {
	return strings.TrimSpace(g.curl(path)+" "+options) + " -d " + quote(body)
}

// speak asks m for a greeting, in the first of its voices.
func (g *greeting) speak(m engine.ModelInfo, options string) string {
	voice := ""
	for _, v := range g.e.Voices() {
		if v.Model == m.ID {
			voice = v.ID
			break
		}
	}
	return g.post("/v1/audio/speech", options, g.body(m, "input", "Hello there.", "voice", voice))
}

// quote writes s as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shellWord is s as it is written in a shell: quoted where it has to be.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@+,%=", r)
	}) {
		return s
	}
	return quote(s)
}

func describeModel(m engine.ModelInfo) string {
	var facts []string
	if m.Architecture != "" {
		facts = append(facts, m.Architecture)
	}
	if m.Quantization != "" {
		facts = append(facts, m.Quantization)
	}
	if m.SizeBytes > 0 {
		facts = append(facts, humanize.Bytes(uint64(m.SizeBytes)))
	}
	if m.ContextLength > 0 {
		facts = append(facts, fmt.Sprintf("%d tokens of context", m.ContextLength))
	}
	name := terminal.Plain(m.ID)
	if m.AliasOf != "" {
		name += " = " + terminal.Plain(m.AliasOf)
	}
	if len(facts) == 0 {
		return name
	}
	return name + " (" + strings.Join(facts, ", ") + ")"
}

// printAbsent names the configured models that are not on this machine: the first
// request for one waits until it is fetched.
func (a *app) printAbsent(s *settings.Loaded) {
	var names []string
	for _, m := range s.Models {
		if m.Fetch != nil {
			names = append(names, terminal.Plain(m.Name))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(a.out, "Not on this machine yet, fetched when first asked for: %s\n", strings.Join(names, ", "))
	}
}
