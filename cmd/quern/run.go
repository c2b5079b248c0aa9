package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/cmd/quern/internal/tools"
	"quern/engine"
	"quern/engine/sample"
)

// groupReply is the heading of run's own flags.
const groupReply = "Reply"

func (a *app) runCmd() *cobra.Command {
	var o replyOptions
	cmd := &cobra.Command{
		Use:   "run [MODEL] [PROMPT...]",
		Short: "Chat in the terminal, or answer one prompt",
		Long: `Chats with MODEL in the terminal: a model file, or the name of a model in the
configuration, a model folder or the store. Without MODEL the default model answers,
which is the built-in one unless the configuration says otherwise.

With a PROMPT quern prints one reply and ends. A file or pipe on standard input is the
prompt, or what follows it. A first argument that is no model and does not look like
a model's name begins the prompt.

In a chat, Ctrl-C stops the reply, Ctrl-D ends the chat and /help lists commands.

With --tools the model may call functions. FILE holds an array of tools as OpenAI's API
has them; calls are printed, one on a line. A tool may have a "command", a program and
its arguments, which can answer a call: it gets the arguments as JSON on standard input
and prints the result, within a minute and 64 KiB. No shell is involved. Quern asks
before it runs one, and answers with what came out; --allow NAME runs those of a tool
without asking. Without a terminal to ask on nothing else is run.

  [{"type": "function", "command": ["./weather", "--json"],
    "function": {"name": "get_weather", "description": "Current weather in a city",
      "parameters": {"type": "object", "required": ["city"],
        "properties": {"city": {"type": "string"}}}}}]`,
		Example: `  quern run
  quern run "What is the capital of France?"
  quern run llama-3.2-1b-q4_k_m.gguf
  quern run llama-3.2-1b-q4_k_m.gguf "Sum this up:" < article.txt
  quern run llama-3.2-1b-q4_k_m.gguf --adapter sql-lora.gguf "Count the users."
  quern run --schema person.json "Who wrote Faust?"
  quern run --tools tools.json "What is the weather in Paris?"
  echo "Tell me a story." | quern run --temperature 0 --max-tokens 100`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return usageError{err}
			}
			return a.run(cmd, args, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.system, "system", "", "system message, a `text`")
	f.Float32Var(&o.temperature, "temperature", 0, "`number` from 0 (always the likeliest token) to 2 (default the model's own, else 1)")
	f.Float32Var(&o.topP, "top-p", 0, "keep the likeliest tokens up to this `share` of probability (default the model's own, else 1)")
	f.IntVar(&o.topK, "top-k", 0, "keep this `number` of likeliest tokens, 0 keeps all (default the model's own, else 0)")
	f.IntVar(&o.maxTokens, "max-tokens", 0, "most `tokens` of one reply (default what the context holds)")
	f.Uint64Var(&o.seed, "seed", 0, "`number` that makes replies repeatable (default random)")
	f.StringVar(&o.schema, "schema", "", "JSON Schema, in a `file`, that every reply is valid under")
	f.StringVar(&o.toolFile, "tools", "", "tools the model may call, in a `file`; see above")
	f.StringSliceVar(&o.allow, "allow", nil, "run the commands of these tools without asking, `names` with commas between")
	adapterFlag(f, &o.adapter, "answer with")
	for _, name := range []string{"system", "temperature", "top-p", "top-k", "max-tokens", "seed", "schema", "tools", "allow", "adapter"} {
		settings.Group(f, name, groupReply)
	}
	settings.AddFlags(cmd)
	return cmd
}

// replyOptions are run's own flags.
type replyOptions struct {
	system      string
	temperature float32
	topP        float32
	topK        int
	maxTokens   int
	seed        uint64
	schema      string   // file
	toolFile    string   // file
	allow       []string // tools whose commands run without asking
	adapter     string   // file or folder

	given map[string]bool // flags that were set
	form  *engine.Constraint
	tools []tools.Tool
}

func (o *replyOptions) check(cmd *cobra.Command) error {
	o.given = map[string]bool{}
	for _, name := range []string{"temperature", "top-p", "top-k", "max-tokens", "seed"} {
		o.given[name] = cmd.Flags().Changed(name)
	}
	switch {
	case !(o.temperature >= 0 && o.temperature <= 2):
		return fmt.Errorf("--temperature must be between 0 and 2, got %g", o.temperature)
	case !(o.topP >= 0 && o.topP <= 1):
		return fmt.Errorf("--top-p must be between 0 and 1, got %g", o.topP)
	case o.topK < 0:
		return fmt.Errorf("--top-k must not be negative, got %d", o.topK)
	case o.maxTokens < 0 || o.given["max-tokens"] && o.maxTokens == 0:
		return fmt.Errorf("--max-tokens must be at least 1, got %d", o.maxTokens)
	}
	if err := o.readSchema(); err != nil {
		return err
	}
	return o.readTools()
}

// maxFlagFile bounds the files of --schema and --tools.
const maxFlagFile = 1 << 20

func readFlagFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readLimited(f, maxFlagFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// readSchema reads the file of --schema. The engine validates it.
func (o *replyOptions) readSchema() error {
	if o.schema == "" {
		return nil
	}
	b, err := readFlagFile(o.schema)
	if err != nil {
		return fmt.Errorf("--schema: %w", err)
	}
	o.form = &engine.Constraint{Form: engine.FormSchema, Source: string(b), Param: o.schema + "#"}
	return nil
}

// apply fills r from the model's defaults and the flags.
func (o *replyOptions) apply(r *engine.GenerateRequest, d engine.Sampling) {
	p := sample.Params{Temperature: engine.DefaultTemperature}
	for dst, v := range map[*float32]*float32{
		&p.Temperature: d.Temperature, &p.TopP: d.TopP, &p.MinP: d.MinP, &p.RepeatPenalty: d.RepeatPenalty,
	} {
		if v != nil {
			*dst = *v
		}
	}
	if d.TopK != nil {
		p.TopK = *d.TopK
	}
	r.MaxTokens = d.MaxTokens
	if r.Constraint = o.form; o.form != nil {
		// The whole output has the form, with no thinking before it.
		r.Prompt.Kwargs = map[string]json.RawMessage{"enable_thinking": json.RawMessage("false")}
	}
	for _, t := range o.tools {
		r.Prompt.Tools = append(r.Prompt.Tools, t.Tool)
	}
	if o.given["temperature"] {
		p.Temperature = o.temperature
	}
	if o.given["top-p"] {
		p.TopP = o.topP
	}
	if o.given["top-k"] {
		p.TopK = o.topK
	}
	if o.given["max-tokens"] {
		r.MaxTokens = o.maxTokens
	}
	p.Seed = rand.Uint64()
	if o.given["seed"] {
		p.Seed = o.seed
	}
	r.Sample = p
}

func (a *app) run(cmd *cobra.Command, args []string, o replyOptions) error {
	ctx, stop := signals(cmd.Context(), stopSignals()...)
	defer stop()
	name, words := "", args
	if len(args) > 0 {
		name, words = args[0], args[1:]
	}
	adapters, err := adapterOf(o.adapter)
	if err != nil {
		return err
	}
	m, err := a.openModels(ctx, cmd, name, adapters...)
	if err != nil {
		return err
	}
	defer m.Close()
	if name != "" && !m.has(name) {
		if mayBeName(name, m.ids()) {
			return m.missing(name)
		}
		name, words = "", args
	}
	info, err := m.find(name, engine.KindCompletion)
	if err != nil {
		return err
	}
	if isInput(words) {
		words = nil
	}
	prompt, talk, err := a.promptOf(words)
	if err != nil {
		return err
	}
	lease, err := m.load(ctx, info)
	if err != nil {
		return err
	}
	defer lease.Release()
	info = lease.Info()
	if name == "" && len(words) > 0 && oneWord.MatchString(words[0]) {
		fmt.Fprintf(a.err, "quern: no model is called %q, so %s takes it as the prompt\n", words[0], info.ID)
	}
	if info.Kind == engine.KindCompletion {
		if err := idle(cmd, info.ID+" has no chat template and goes on with the prompt as it stands", "system", "tools"); err != nil {
			return err
		}
	}
	if o.form != nil {
		notes, err := lease.CheckConstraint(ctx, o.form)
		if err != nil {
			return err
		}
		for _, n := range notes {
			fmt.Fprintf(a.err, "quern: %s: %s\n", o.schema, n)
		}
	}
	s := &session{app: a, lease: lease, model: info, options: o, system: o.system}
	if !talk {
		s.question = a.questioner()
		return s.reply(ctx, prompt)
	}
	// In a chat Ctrl-C ends the reply, so only the other signal ends the program.
	// It is caught for the whole chat: one that comes between two replies must not end
	// the program either.
	s.interrupts = make(chan os.Signal, 1)
	signal.Notify(s.interrupts, os.Interrupt)
	defer signal.Stop(s.interrupts)
	stop()
	ctx, stop = signals(cmd.Context(), stopSignals()[1:]...)
	defer stop()
	return s.talk(ctx)
}

// noteAfter is how long standard input may take before a note is printed that it is waited for.
const noteAfter = 2 * time.Second

// promptOf is the prompt: the words of the command line, standard input, or both.
// talk: there is neither, and standard input is a terminal.
func (a *app) promptOf(words []string) (prompt string, talk bool, err error) {
	prompt = strings.TrimSpace(strings.Join(words, " "))
	switch {
	case len(words) == 0 && terminal.Is(a.in):
		return "", true, nil
	case len(words) == 0 || a.hasInput():
		if prompt != "" {
			// Else reading an open pipe would block without a note.
			note := time.AfterFunc(noteAfter, func() {
				fmt.Fprintln(a.status(), "Waiting for the end of standard input, the rest of the prompt; < /dev/null leaves it out.")
			})
			defer note.Stop()
		}
		text, err := a.readInput()
		if err != nil {
			return "", false, err
		}
		if rest := strings.TrimSpace(text); rest != "" && prompt != "" {
			prompt += "\n\n" + rest
		} else {
			prompt += rest
		}
	}
	if prompt == "" {
		return "", false, usageError{errors.New("the prompt is empty; give it as an argument, as in quern run \"Hello\", or on standard input")}
	}
	return prompt, false, nil
}

// maxPrompt bounds the bytes read from standard input.
const maxPrompt = 64 << 20

func readLimited(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("longer than %s", settings.Size(limit))
	}
	return b, err
}

// readInput reads standard input to its end. On a terminal a note
// is printed that it is waited for.
func (a *app) readInput() (string, error) {
	if terminal.Is(a.in) {
		fmt.Fprintln(a.err, "Type the text; Ctrl-D on a line of its own ends it.")
	}
	b, err := readLimited(a.in, maxPrompt)
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return string(b), nil
}
