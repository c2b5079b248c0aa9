package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"quern/engine"
	"quern/kernels/quant"
)

// load runs serve's settings through the given file, environment and flags, in
// a folder of its own.
func load(t *testing.T, file string, env, flags []string) (*Loaded, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"a.gguf", "b.gguf", "x=y.gguf"} {
		write(t, name, "")
	}
	if file != "" {
		write(t, "quern.yaml", file)
	}
	var out *Loaded
	cmd := &cobra.Command{Use: "serve", SilenceErrors: true, SilenceUsage: true}
	AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		out, err = Load(cmd, env)
		return err
	}
	cmd.SetArgs(flags)
	err := cmd.Execute()
	return out, err
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPrecedence(t *testing.T) {
	for _, tt := range []struct {
		name  string
		file  string
		env   []string
		flags []string
		got   func(*Settings) any
		want  any
	}{
		{"default", "", nil, nil, func(s *Settings) any { return s.Listen }, "127.0.0.1:8080"},
		{"file", "listen: :1", nil, nil, func(s *Settings) any { return s.Listen }, ":1"},
		{"env over file", "listen: :1", []string{"QUERN_LISTEN=:2"}, nil, func(s *Settings) any { return s.Listen }, ":2"},
		{"flag over env", "listen: :1", []string{"QUERN_LISTEN=:2"}, []string{"--listen", ":3"},
			func(s *Settings) any { return s.Listen }, ":3"},
		{"flag over default", "", nil, []string{"-l", ":3"}, func(s *Settings) any { return s.Listen }, ":3"},
		{"empty env is unset", "listen: :1", []string{"QUERN_LISTEN="}, nil, func(s *Settings) any { return s.Listen }, ":1"},
		{"empty file", "\n# nothing\n", nil, nil, func(s *Settings) any { return s.Listen }, "127.0.0.1:8080"},
		{"byte order mark", "\ufefflisten: :1\r\n", nil, nil, func(s *Settings) any { return s.Listen }, ":1"},
		{"empty key keeps the default", "listen:\n", nil, nil, func(s *Settings) any { return s.Listen }, "127.0.0.1:8080"},
		{"threads", "threads: 1", []string{"QUERN_THREADS=2"}, []string{"--threads=3"},
			func(s *Settings) any { return s.Threads }, 3},
		{"device", "device: auto", nil, []string{"--device=CPU"}, func(s *Settings) any { return s.Device }, "cpu"},
		{"log level", "log: {level: warn, format: json}", []string{"QUERN_LOG_LEVEL=debug"}, nil,
			func(s *Settings) any { return s.Log }, logging{"debug", "json"}},
		{"folders", "model_dirs: [/m]", []string{"QUERN_MODELS=/a" + string(os.PathListSeparator) + "/b"}, nil,
			func(s *Settings) any { return s.ModelDirs }, []string{"/a", "/b"}},
		{"folders by flag", "", []string{"QUERN_MODELS=/a"}, []string{"--models", "/b", "--models", "/c"},
			func(s *Settings) any { return s.ModelDirs }, []string{"/b", "/c"}},
		{"no-auth over file", "auth: [{name: n, key: k}]", nil, []string{"--no-auth"},
			func(s *Settings) any { return s.Auth }, auth{None: true}},
		{"no-auth=false", "auth: none", nil, []string{"--no-auth=false"},
			func(s *Settings) any { return s.Auth }, auth{None: true}},
		{"key of the environment beside the file's", "auth: [{name: n, key: k}]", []string{"QUERN_API_KEY=s"}, nil,
			func(s *Settings) any { return s.Auth },
			auth{Keys: []authKey{{Name: "n", SHA256: hash("k")}, {Name: "QUERN_API_KEY", SHA256: hash("s")}}}},
		{"line breaks behind keys", "auth: [{name: n, key_env: K}]", []string{"QUERN_API_KEY=s\n", "K= k\r\n"}, nil,
			func(s *Settings) any { return s.Auth },
			auth{Keys: []authKey{{Name: "n", SHA256: hash("k")}, {Name: "QUERN_API_KEY", SHA256: hash("s")}}}},
		{"key of the environment over none", "auth: none", []string{"QUERN_API_KEY=s"}, nil,
			func(s *Settings) any { return s.Auth }, auth{Keys: []authKey{{Name: "QUERN_API_KEY", SHA256: hash("s")}}}},
		{"model of the configuration by name", "models: [{name: m, path: /m.gguf, slots: 3}, {name: n, path: /n.gguf}]",
			nil, []string{"--model", "m"},
			func(s *Settings) any { return s.Models },
			[]Model{{Name: "m", Path: "/m.gguf", Slots: 3, Preload: new(true)}}},
		{"a model that is not loaded at start", "model_defaults: {preload: true}\nmodels: [{name: m, path: /m.gguf, preload: false}, {name: n, path: /n.gguf}]", nil, nil,
			func(s *Settings) any { return []bool{s.Preloads(&s.Models[0]), s.Preloads(&s.Models[1])} }, []bool{false, true}},
		{"models as files", "models: [{name: m, path: /m.gguf}]", nil, []string{"-m", "a.gguf", "-m", "org/b:q=b.gguf", "-m", "x=y.gguf"},
			func(s *Settings) any { return s.Models },
			[]Model{{Path: "a.gguf", Preload: new(true)}, {Name: "org/b:q", Path: "b.gguf", Preload: new(true)},
				{Path: "x=y.gguf", Preload: new(true)}}},
		{"another file for a configured name", "models: [{name: m, path: /m.gguf, slots: 3}]", nil, []string{"-m", "m=a.gguf"},
			func(s *Settings) any { return s.Models },
			[]Model{{Name: "m", Path: "a.gguf", Slots: 3, Preload: new(true)}}},
		{"adapters", "models: [{name: m, path: m.gguf, adapters: {tone: a/tone, sql: /x/sql.gguf}, adapter_scales: {tone: -0.5}}]", nil, nil,
			func(s *Settings) any { return fmt.Sprint(s.EngineOptions(nil).Models[0].Adapters) },
			"[{sql /x/sql.gguf 0} {tone a/tone -0.5}]"},
		{"model defaults", "model_defaults: {slots: 2, queue: 7}", nil, []string{"--slots=4", "--cache-type=q8_0", "--context-length=99"},
			func(s *Settings) any { return s.ModelDefaults },
			Model{Slots: 4, Queue: 7, CacheType: "q8_0", ContextLength: 99}},
		{"cache type of GPUs", "models: [{name: m, path: /m.gguf, cache_type: FP8}]\nmodel_defaults: {cache_type: BF16}", nil, nil,
			func(s *Settings) any {
				return []quant.Type{cacheTypes[s.Models[0].CacheType], cacheTypes[s.ModelDefaults.CacheType]}
			}, []quant.Type{quant.F8_E4M3, quant.BF16}},
		{"flags over entries of models", "models: [{name: m, path: /m.gguf, slots: 3, context_length: 4096}, {name: n, path: /n.gguf}]", nil,
			[]string{"--context-length=512", "--cache-type=q8_0"},
			func(s *Settings) any {
				return []Model{s.Models[0], s.ModelDefaults, {Slots: s.Models[1].ContextLength}}
			},
			[]Model{{Name: "m", Path: "/m.gguf", Slots: 3, ContextLength: 512}, {ContextLength: 512, CacheType: "q8_0"}, {}}},
		{"flags over part of an entry", "models: [{name: m, path: /m.gguf, draft: a, speculation: draft, draft_tokens: 3}]", nil, []string{"--draft=b"},
			func(s *Settings) any { return s.Models }, []Model{{Name: "m", Path: "/m.gguf", Draft: "b", Speculation: "draft", DraftTokens: 3}}},
		{"flags over the entry a flag names", "models: [{name: m, path: /m.gguf, context_length: 4096}]", nil, []string{"--context-length=512", "--model", "m"},
			func(s *Settings) any { return s.Models }, []Model{{Name: "m", Path: "/m.gguf", ContextLength: 512, Preload: new(true)}}},
		{"times", "request_timeout: 0\nkeep_alive: never\nrequest_timeout_overrides: {/v1/embeddings: 2m}", nil, nil,
			func(s *Settings) any {
				return []any{s.RequestTimeout, s.KeepAlive, s.RequestOverrides["/v1/embeddings"].String()}
			},
			[]any{Duration(0), Never, "2m"}},
		{"sizes", "memory_limit: 2GiB\nlimits: {json_body: 1024}", nil, nil,
			func(s *Settings) any { return []Size{s.MemoryLimit, s.Limits.JSONBody} }, []Size{2 << 30, 1024}},
		{"replies", "voice_aliases: {n: af_sky}\ncompletions_max_tokens: 64\ndefault_max_tokens: 512\nlimits: {max_logprobs: 20}", nil, nil,
			func(s *Settings) any {
				o := s.APIOptions(nil, "", nil)
				return []any{o.CompletionsTokens, o.DefaultMaxTokens, o.MaxLogprobs, s.EngineOptions(nil).VoiceAliases["n"]}
			}, []any{64, 512, 20, "af_sky"}},
		{"anchor", "models:\n- &m {name: a, path: /a}\n- {name: b, path: /b, slots: &n 5, queue: *n}", nil, nil,
			func(s *Settings) any { return s.Models[1] }, Model{Name: "b", Path: "/b", Slots: 5, Queue: 5}},
		{"block text", "models: [{path: /a, chat_template: 'x'}]\nmodel_defaults:\n  chat_template: |\n    {{ a }}\n", nil, nil,
			func(s *Settings) any { return s.ModelDefaults.ChatTemplate }, "{{ a }}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := load(t, tt.file, tt.env, tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.got(&s.Settings); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v; want %+v", got, tt.want)
			}
		})
	}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// What is said of other programs' keys is true: quern has the one, and not the other.
func TestOtherKeys(t *testing.T) {
	keys := map[string]bool{}
	for _, r := range table() {
		keys[r.key] = true
	}
	for name, key := range otherKeys {
		if keys[name] || !keys[strings.Replace(key, "model_defaults.", "models[].", 1)] {
			t.Errorf("%s: %s", name, key)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		file  string
		env   []string
		flags []string
		want  []string // parts of the message
	}{
		{"adapter of any model", "model_defaults: {adapters: {a: x.gguf}}", nil, nil, []string{"model_defaults: adapters and adapter_scales belong in models"}},
		{"adapter without file", "models: [{path: m.gguf, adapters: {a: \"\"}}]", nil, nil, []string{"models[0]: adapters.a: name a file or a folder"}},
		{"adapter of the hub", "models: [{path: m.gguf, adapters: {a: hub:x/y}}]", nil, nil, []string{"models[0]: adapters.a: adapters are not fetched"}},
		{"scale of no adapter", "models: [{path: m.gguf, adapter_scales: {a: 2}}]", nil, nil, []string{"adapter_scales.a: there is no adapter"}},
		{"draft of the hub", "models: [{path: m.gguf, draft: hub:x/y}]", nil, nil, []string{"models[0]: draft: models that draft are not fetched"}},
		{"draft beside lookup", "models: [{path: m.gguf, draft: small, speculation: lookup}]", nil, nil, []string{"models[0]: draft: with speculation: lookup no model is asked", "speculation: draft"}},
		{"draft beside the model's own", "models: [{path: m.gguf, draft: small, speculation: mtp}]", nil, nil, []string{"models[0]: draft: with speculation: mtp"}},
		{"scale of nothing", "models: [{path: m.gguf, adapters: {a: x}, adapter_scales: {a: 0}}]", nil, nil, []string{"adapter_scales.a: 0 leaves nothing"}},
		{"scale too large", "models: [{path: m.gguf, adapters: {a: x}, adapter_scales: {a: 101}}]", nil, nil, []string{"quern.yaml:1", "must be from -100 to 100"}},
		{"misspelt key", "threads: 2\nlistn: x", nil, nil, []string{"quern.yaml:2:", `unknown key "listn"`, `did you mean "listen"`}},
		{"misspelt nested key", "models:\n- name: a\n  path: b\n  slot: 3", nil, nil,
			[]string{"quern.yaml:4:", `"models[0].slot"`, `did you mean "slots"`}},
		{"key of another place", "temperature: 1", nil, nil, []string{"quern.yaml:1:", `there is one at "models[].sampling.temperature"`}},
		{"key of another place that is near one here", "path: m.gguf", nil, nil, []string{`there is one at "models[].path"`}},
		{"key of another program", "port: 9000", nil, nil, []string{`unknown key "port"; quern has "listen"`}},
		{"key of nowhere", "log: {colour: red}", nil, nil, []string{`"log.colour"`, "the keys here are format, level"}},
		{"key twice", "listen: :1\nlisten: :2", nil, nil, []string{"quern.yaml:2:", "listen"}},
		{"no mapping", "- a", nil, nil, []string{"quern.yaml:1:", "want keys and values, got a list"}},
		{"broken YAML", "listen: [", nil, nil, []string{"quern.yaml:1:"}},
		{"two documents", "listen: :1\n---\nlisten: :2", nil, nil, []string{"quern.yaml:3:", "second document"}},
		{"tag", "listen: !!str x", nil, nil, []string{"tags"}},
		{"alias of nothing", "listen: *x", nil, nil, []string{"quern.yaml:1:"}},
		{"text for a number", "threads: two", nil, nil, []string{"quern.yaml:1: threads: want a whole number, got \"two\""}},
		{"fraction for a number", "threads: 1.5", nil, nil, []string{"threads: want a whole number, got 1.5"}},
		{"quoted number", "threads: '3'", nil, nil, []string{"want a whole number"}},
		{"huge number", "threads: 99999999999999999999999", nil, nil, []string{"quern.yaml:1: threads"}},
		{"number above int32", "threads: 3000000000", nil, nil, []string{"out of range"}},
		{"yes for true", "builtin: yes", nil, nil, []string{"want true or false, got \"yes\""}},
		{"true for text", "listen: true", nil, nil, []string{"listen: want text, got true"}},
		{"list for text", "listen: [a]", nil, nil, []string{"listen: want text, got a list"}},
		{"text for a list", "model_dirs: /m", nil, nil, []string{`model_dirs: want a list, got "/m"`}},
		{"empty entry", "model_dirs:\n- /m\n-\n", nil, nil, []string{"model_dirs[1]: an empty entry"}},
		{"bad duration", "keep_alive: soon", nil, nil, []string{`quern.yaml:1: keep_alive: "soon" is not a duration`}},
		{"duration without unit", "request_timeout: 60", nil, nil, []string{"60 has no unit; write 60s"}},
		{"negative duration", "load_timeout: -5s", nil, nil, []string{"negative"}},
		{"never for a timeout", "request_timeout: never", nil, nil, []string{"request_timeout: never is only for keep_alive"}},
		{"no keep_alive", "keep_alive: 0", nil, nil, []string{"keep_alive"}},
		{"bad override", "request_timeout_overrides: {v1: 5s}", nil, nil, []string{"request_timeout_overrides.v1"}},
		{"bad size", "memory_limit: lots", nil, nil, []string{`memory_limit: "lots" is not a size`}},
		{"no logprobs", "limits: {max_logprobs: 0}", nil, nil, []string{"limits.max_logprobs: must be from 1 to 20, got 0"}},
		{"many logprobs", "limits: {max_logprobs: 21}", nil, nil, []string{"limits.max_logprobs: must be from 1 to 20, got 21"}},
		{"no completion", "completions_max_tokens: 0", nil, nil, []string{"completions_max_tokens: must be from 1 up, got 0"}},
		{"no body", "limits: {json_body: 0}", nil, nil, []string{"limits.json_body"}},
		{"bad reasoning field", "reasoning_field: none", nil, nil, []string{"reasoning_field", "reasoning_content, reasoning, both, inline"}},
		{"a budget of no effort", "reasoning_budgets: {little: 5}", nil, nil, []string{"reasoning_budgets.little", "minimal, low"}},
		{"a budget below 0", "reasoning_budgets: {low: -5}", nil, nil, []string{"reasoning_budgets.low"}},
		{"bad device", "device: gpu", nil, nil, []string{`"gpu" is not known; use auto or cpu`}},
		{"no GPU support", "device: cuda", nil, nil, []string{"device: ", "auto or cpu"}},
		{"bad mixture", "models: [{path: a, quantize: q9}]", nil, nil, []string{"models[0].quantize", "Q4_K_M"}},
		{"bad cache type", "models: [{path: a, cache_type: q4}]", nil, nil, []string{"models[0].cache_type", "f16, f32, q8_0"}},
		{"bad listen", "listen: localhost", nil, nil, []string{"quern.yaml", "listen", "HOST:PORT"}},
		{"bad auth", "auth: all", nil, nil, []string{`auth: want none or a list of keys, got text`}},
		{"key without name", "auth: [{key: k}]", nil, nil, []string{"auth[0]: name is missing"}},
		{"key without key", "auth: [{name: k}]", nil, nil, []string{"exactly one of key, key_file, key_env and sha256"}},
		{"key and file", "auth: [{name: k, key: a, key_file: b}]", nil, nil, []string{"exactly one"}},
		{"unset variable", "auth: [{name: k, key_env: NOT_SET}]", nil, nil, []string{"NOT_SET is not set"}},
		{"empty variable", "", []string{"QUERN_API_KEY= "}, nil, []string{`key "QUERN_API_KEY": it is empty`}},
		{"no key file", "auth: [{name: k, key_file: nowhere}]", nil, nil, []string{`auth[0]: key "k"`, "nowhere"}},
		{"bad hash", "auth: [{name: k, sha256: abc}]", nil, nil, []string{"64 hexadecimal digits"}},
		{"same name twice", "auth: [{name: k, key: a}, {name: k, key: b}]", nil, nil, []string{`auth[1]: a second key named "k"`}},
		{"same key twice", "auth: [{name: a, key: x, requests_per_minute: 1}, {name: b, key: x}]", nil, nil, []string{`auth[1]: "b" has the same key as "a"`}},
		{"same key in a variable", "auth: [{name: a, key: x, requests_per_minute: 1}]", []string{"QUERN_API_KEY=x"}, nil, []string{`"QUERN_API_KEY" has the same key as "a"`}},
		{"same key, hashed", "auth: [{name: a, key: k}, {name: b, sha256: " + strings.ToUpper(hash("k")) + "}]", nil, nil, []string{`"b" has the same key as "a"`}},
		{"no slots", "models: [{path: a, slots: 0}]", nil, nil, []string{"models[0].slots: must be from 1 up, got 0"}},
		{"no queue", "models: [{path: a, queue: 0}]", nil, nil, []string{"models[0].queue: must be from 1 up, got 0"}},
		{"no rows", "model_defaults: {batch: 0}", nil, nil, []string{"model_defaults.batch: must be from 1 up, got 0"}},
		{"no drafts", "", nil, []string{"--draft-tokens", "0"}, []string{"must be from 1 to 32"}},
		{"no reply", "models: [{path: a, sampling: {max_tokens: 0}}]", nil, nil, []string{"models[0].sampling.max_tokens: must be from 1 up, got 0"}},
		{"model without path", "models: [{name: a}]", nil, nil, []string{"models[0]: path is missing"}},
		{"model twice", "models: [{name: a, path: x}, {name: a, path: y}]", nil, nil, []string{`models[1]: a second model named "a"`}},
		{"broken template", "models: [{path: x, chat_template: '{% if %}'}]", nil, nil, []string{"models[0]: chat_template: ", "template"}},
		{"broken default template", "model_defaults: {chat_template: '{{ a'}", nil, nil, []string{"model_defaults: chat_template: "}},
		{"nothing to draft with", "models: [{path: x, speculation: draft}]", nil, nil, []string{"models[0]: speculation: draft needs draft, the name or file"}},
		{"nor by default", "models: [{path: x}]\nmodel_defaults: {speculation: draft}", nil, nil, []string{"models[0]: speculation: draft needs draft"}},
		{"memory of one byte", "memory_limit: 1", nil, nil, []string{"memory_limit: ", "without a unit", "8GiB"}},
		{"memory of no model", "", nil, []string{"--memory-limit=512KiB"}, []string{"memory_limit: 512KiB", "8GiB"}},
		{"two templates", "models: [{path: x, chat_template: a, chat_template_file: b}]", nil, nil, []string{"not both"}},
		{"no template file", "models: [{path: x, chat_template_file: b}]", nil, nil, []string{"models[0]: chat_template_file"}},
		{"temperature", "models: [{path: x, sampling: {temperature: 3}}]", nil, nil, []string{"models[0].sampling.temperature: must be from 0 to 2, got 3"}},
		{"not a number", "models: [{path: x, sampling: {top_p: .nan}}]", nil, nil, []string{"top_p"}},
		{"top_k", "models: [{path: x, sampling: {top_k: -1}}]", nil, nil, []string{"top_k"}},
		{"repeat penalty", "models: [{path: x, sampling: {repeat_penalty: 0}}]", nil, nil, []string{"repeat_penalty"}},
		{"negative slots", "models: [{path: x, slots: -1}]", nil, nil, []string{"models[0].slots: must be from 1 up, got -1"}},
		{"name among the defaults", "model_defaults: {name: x}", nil, nil, []string{"model_defaults"}},
		{"bad variable", "", []string{"QUERN_THREADS=many"}, nil, []string{"QUERN_THREADS", `"many" is not a whole number`}},
		{"bad flag value", "", nil, []string{"--threads", "-1"}, []string{"--threads"}},
		{"no such model", "models: [{name: small, path: x}]", nil, []string{"--model", "smal"}, []string{"--model", `no file "smal"`, `did you mean "small"`}},
		{"no such file", "", nil, []string{"--model", "m=nothing.gguf"}, []string{`no file "nothing.gguf"`}},
		{"no name", "", nil, []string{"--model", "=a.gguf"}, []string{"NAME=FILE"}},
		{"no configuration", "", nil, []string{"--config", "nowhere.yaml"}, []string{"nowhere.yaml"}},
		{"no configuration of the environment", "", []string{"QUERN_CONFIG=nowhere.yaml"}, nil, []string{"nowhere.yaml"}},
		{"unknown flag", "", nil, []string{"--thread=3"}, []string{"unknown flag"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.file, tt.env, tt.flags)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q; want %q in it", err, part)
				}
			}
		})
	}
}

func TestKeySources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, "from file\n")
	s, err := load(t, "auth:\n- {name: a, key: plain}\n- {name: b, key_file: "+file+"}\n- {name: c, key_env: MY_KEY}\n- {name: d, sha256: "+
		strings.ToUpper(hash("hashed"))+"}", []string{"MY_KEY=from env"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []authKey{{Name: "a", SHA256: hash("plain")}, {Name: "b", SHA256: hash("from file")},
		{Name: "c", SHA256: hash("from env")}, {Name: "d", SHA256: hash("hashed")}}
	if !reflect.DeepEqual(s.Auth.Keys, want) {
		t.Errorf("keys %+v; want %+v", s.Auth.Keys, want)
	}
}

func TestPathsFollowTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "c.yaml"), "models: [{path: m/a.gguf}, {path: /abs.gguf}, {path: '~/h.gguf'}]\nmodel_dirs: [d]")
	s, err := load(t, "", nil, []string{"--config", filepath.Join(dir, "c.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.Models[0].Path, s.Models[1].Path, s.Models[2].Path, s.ModelDirs[0]}
	want := []string{filepath.Join(dir, "m/a.gguf"), "/abs.gguf", filepath.Join(home, "h.gguf"), filepath.Join(dir, "d")}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("paths %q; want %q", got, want)
	}
}

func TestStrangeVariables(t *testing.T) {
	s, err := load(t, "", []string{"QUERN_LISTN=x", "QUERN_CPU=avx2", "QUERN_CUDA_WGMMA=off", "QUERN_LIBCUDA=x", "QUERNS=1", "PATH=/"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"QUERN_LISTN is not a variable quern reads; did you mean QUERN_LISTEN?"}
	if !reflect.DeepEqual(s.Warnings, want) {
		t.Errorf("warnings %q; want %q", s.Warnings, want)
	}
}

// TestDrives: Windows keeps the folder of each drive among the variables, as =C:=C:\x.
func TestDrives(t *testing.T) {
	if _, err := load(t, "", []string{`=C:=C:\x`, "PATH=/"}, nil); err != nil {
		t.Error(err)
	}
}

// The example shows the defaults, and what it has commented out is valid too.
func TestExample(t *testing.T) {
	got := defaults("serve")
	got.CORS.AllowedOrigins, got.Listen, got.KeepAlive = nil, "", 0
	if err := decodeYAML("example", []byte(Example()), &got); err != nil {
		t.Fatal(err)
	}
	gotText, wantText := marshal(t, got), marshal(t, defaults("serve"))
	if gotText != wantText {
		t.Errorf("the example is not the default:\n%s\nwant\n%s", gotText, wantText)
	}

	var lines []string
	for _, l := range strings.Split(Example(), "\n") {
		if slices.ContainsFunc([]string{"vad:", "lexicon:", "#      segmentation:", "#      embedding:", "#      plda:"}, func(key string) bool { return strings.Contains(l, key) }) {
			continue // files that have to be there
		}
		if rest, ok := strings.CutPrefix(l, "#  "); ok {
			// The key above has an empty value, which these lines replace.
			above := lines[len(lines)-1]
			for _, empty := range []string{" []", " {}"} {
				above = strings.TrimSuffix(above, empty)
			}
			lines[len(lines)-1] = above
			l = "  " + rest
		}
		lines = append(lines, l)
	}
	var full Settings
	if err := decodeYAML("full", []byte(strings.Join(lines, "\n")), &full); err != nil {
		t.Fatal(err)
	}
	if len(full.Models) != 1 || full.Models[0].Sampling.MaxTokens != 1024 || full.Models[0].Slots != engine.DefaultSlots ||
		full.Aliases["gpt-4o-mini"] != "small" || len(full.Auth.Keys) != 1 {
		t.Errorf("uncommented example: %+v", full)
	}
}

func marshal(t *testing.T, s Settings) string {
	t.Helper()
	b, err := yaml.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What --print-config prints means the same when it is read back, and shows no
// key.
func TestPrintConfig(t *testing.T) {
	file := `
listen: 0.0.0.0:99
auth: [{name: n, key: hidden-value}]
models: [{name: m, path: /m.gguf, cache_type: q8_0, cache_memory: 3MiB, keep_alive: never, sampling: {temperature: 0.5}}]
memory_limit: 1500MB
request_timeout_overrides: {/v1/embeddings: 90s}
stall_timeout: 0
`
	s, err := load(t, file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.Print(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hidden-value") {
		t.Error("the key is shown")
	}
	again := Settings{}
	if err := decodeYAML("printed", []byte(b.String()), &again); err != nil {
		t.Fatal(err)
	}
	if got := marshal(t, again); got != marshal(t, s.Settings) {
		t.Errorf("read back:\n%s\nwant\n%s", got, marshal(t, s.Settings))
	}
}
