package settings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/hub"
	"quern/httpapi"
)

// Settings are all settings of quern, spelled as in quern.yaml. The table describes
// them; the tags here bind its keys to fields.
type Settings struct {
	Listen            string              `yaml:"listen"`
	Auth              auth                `yaml:"auth"`
	Manage            string              `yaml:"manage"`
	AllowedHosts      []string            `yaml:"allowed_hosts"`
	CORS              cors                `yaml:"cors"`
	RequestTimeout    Duration            `yaml:"request_timeout"`
	RequestOverrides  map[string]Duration `yaml:"request_timeout_overrides"`
	StreamWrite       Duration            `yaml:"stream_write_timeout"`
	StallTimeout      Duration            `yaml:"stall_timeout"`
	KeepAliveInterval Duration            `yaml:"keepalive_interval"`
	HeaderDelay       Duration            `yaml:"header_delay"`
	ShutdownDelay     Duration            `yaml:"shutdown_delay"`
	ShutdownGrace     Duration            `yaml:"shutdown_grace"`
	TLS               tlsFiles            `yaml:"tls"`
	Operations        operations          `yaml:"operations"`
	Metrics           metrics             `yaml:"metrics"`
	Instance          string              `yaml:"instance"`
	Audit             auditing            `yaml:"audit"`
	Traces            traces              `yaml:"traces"`
	Page              bool                `yaml:"page"`

	Models        []Model           `yaml:"models"`
	ModelDefaults Model             `yaml:"model_defaults"`
	ModelDirs     []string          `yaml:"model_dirs"`
	Hub           hubSettings       `yaml:"hub"`
	Builtin       bool              `yaml:"builtin"`
	Aliases       map[string]string `yaml:"aliases"`
	Tools         tools             `yaml:"tools"`
	VoiceAliases  map[string]string `yaml:"voice_aliases"`
	Defaults      defaultModels     `yaml:"defaults"`
	KeepAlive     Duration          `yaml:"keep_alive"`
	LoadTimeout   Duration          `yaml:"load_timeout"`
	MemoryWait    Duration          `yaml:"memory_wait"`
	PrefixCache   prefixCache       `yaml:"prefix_cache"`
	WarmUp        bool              `yaml:"warm_up"`

	Threads     int    `yaml:"threads"`
	Device      string `yaml:"device"`
	GPULayers   int    `yaml:"gpu_layers"`
	Repack      bool   `yaml:"repack"`
	RoundFloats bool   `yaml:"round_floats"`
	MemoryLimit Size   `yaml:"memory_limit"`

	DefaultMaxTokens  int            `yaml:"default_max_tokens"`
	CompletionsTokens int            `yaml:"completions_max_tokens"`
	ReasoningField    string         `yaml:"reasoning_field"`
	ReasoningBudgets  map[string]int `yaml:"reasoning_budgets"`
	Limits            limits         `yaml:"limits"`

	Realtime  realtime  `yaml:"realtime"`
	Responses responses `yaml:"responses"`
	Jobs      jobs      `yaml:"jobs"`

	Log logging `yaml:"log"`
}

type cors struct {
	AllowedOrigins []string `yaml:"allowed_origins"`
}

type tools struct {
	Fallback string `yaml:"fallback"`
}

type hubSettings struct {
	Endpoint  string `yaml:"endpoint"`
	TokenFile string `yaml:"token_file"`
	Pull      bool   `yaml:"pull"`
}

type prefixCache struct {
	Dir  string `yaml:"dir"`
	Size Size   `yaml:"size"`
}

type defaultModels struct {
	Chat           string `yaml:"chat"`
	Completion     string `yaml:"completion"`
	Embedding      string `yaml:"embedding"`
	Rerank         string `yaml:"rerank"`
	Classification string `yaml:"classification"`
	Speech         string `yaml:"speech"`
	Transcription  string `yaml:"transcription"`
}

// A Model is one entry of models. Fields left out take model_defaults'.
type Model struct {
	Name          string   `yaml:"name,omitempty"`
	Path          string   `yaml:"path,omitempty"`
	ContextLength int      `yaml:"context_length,omitempty"`
	Slots         int      `yaml:"slots,omitempty"`
	Queue         int      `yaml:"queue,omitempty"`
	Batch         int      `yaml:"batch,omitempty"`
	CacheType     string   `yaml:"cache_type,omitempty"`
	CacheMemory   Size     `yaml:"cache_memory,omitempty"`
	Speculation   string   `yaml:"speculation,omitempty"`
	Draft         string   `yaml:"draft,omitempty"`
	DraftTokens   int      `yaml:"draft_tokens,omitempty"`
	Quantize      string   `yaml:"quantize,omitempty"`
	ChatTemplate  string   `yaml:"chat_template,omitempty"`
	TemplateFile  string   `yaml:"chat_template_file,omitempty"`
	ToolFormat    string   `yaml:"tool_format,omitempty"`
	VAD           string   `yaml:"vad,omitempty"`
	Diarize       diarizer `yaml:"diarize,omitempty"`
	Lexicon       string   `yaml:"lexicon,omitempty"`
	Preload       *bool    `yaml:"preload,omitempty"`

	Adapters      map[string]string  `yaml:"adapters,omitempty"`
	AdapterScales map[string]float32 `yaml:"adapter_scales,omitempty"`

	KeepAlive Duration `yaml:"keep_alive,omitempty"`
	Sampling  sampling `yaml:"sampling,omitempty"`

	QueryPrefix    *string `yaml:"query_prefix,omitempty"`
	DocumentPrefix *string `yaml:"document_prefix,omitempty"`
	Matryoshka     *bool   `yaml:"matryoshka,omitempty"`

	Fetch func(context.Context, func(done, total int64)) (string, error) `yaml:"-"` // of a hub model that is not here yet
}

// A diarizer is the networks of diarization.
type diarizer struct {
	Segmentation string `yaml:"segmentation,omitempty"`
	Embedding    string `yaml:"embedding,omitempty"`
	PLDA         string `yaml:"plda,omitempty"`
}

// check refuses files without the others that they need.
func (d diarizer) check() error {
	switch {
	case d.Segmentation != "" && d.Embedding == "":
		return errors.New("diarize.segmentation needs diarize.embedding: a network that tells voices apart")
	case d.Embedding != "" && d.Segmentation == "":
		return errors.New("diarize.embedding needs diarize.segmentation: a network that tells when who speaks")
	case d.PLDA != "" && d.Embedding == "":
		return errors.New("diarize.plda needs diarize.segmentation and diarize.embedding")
	}
	return nil
}

type sampling struct {
	Temperature   *float32 `yaml:"temperature,omitempty"`
	TopP          *float32 `yaml:"top_p,omitempty"`
	TopK          *int     `yaml:"top_k,omitempty"`
	MinP          *float32 `yaml:"min_p,omitempty"`
	RepeatPenalty *float32 `yaml:"repeat_penalty,omitempty"`
	MaxTokens     int      `yaml:"max_tokens,omitempty"`
}

type limits struct {
	JSONBody    Size `yaml:"json_body"`
	Upload      Size `yaml:"upload"`
	TempFiles   Size `yaml:"temp_files"`
	SpeechChars int  `yaml:"speech_chars"`
	MaxN        int  `yaml:"max_n"`
	MaxLogprobs int  `yaml:"max_logprobs"`
}

type realtime struct {
	Sessions int      `yaml:"sessions"`
	Message  Size     `yaml:"message"`
	Events   int      `yaml:"events_per_second"`
	Items    int      `yaml:"items"`
	Audio    Duration `yaml:"audio"`
	Step     Duration `yaml:"step"`
	Idle     Duration `yaml:"idle"`
	Total    Duration `yaml:"total"`
}

type responses struct {
	Store      string   `yaml:"store"`
	Bytes      Size     `yaml:"bytes"`
	Count      int      `yaml:"count"`
	Age        Duration `yaml:"age"`
	Background int      `yaml:"background"`
	OtherTools string   `yaml:"other_tools"`
}

type tlsFiles struct {
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	ClientCA string `yaml:"client_ca"`
}

type operations struct {
	Listen string `yaml:"listen"`
	Pprof  string `yaml:"pprof"`
}

type auditing struct {
	File string `yaml:"file"`
}

type traces struct {
	Endpoint string  `yaml:"endpoint"`
	Sample   float32 `yaml:"sample"`
	Service  string  `yaml:"service"`
}

// jobs are where files and batches are kept. Store is a word or addresses.
type jobs struct {
	Store       string   `yaml:"store"`
	Dir         string   `yaml:"dir"`
	Replicas    int      `yaml:"replicas"`
	MaxBytes    Size     `yaml:"max_bytes"`
	TTL         Duration `yaml:"ttl"`
	Workers     int      `yaml:"workers"`
	Credentials string   `yaml:"credentials"`
	TLS         jobsTLS  `yaml:"tls"`
}

type jobsTLS struct {
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

type metrics struct {
	Public    bool `yaml:"public"`
	VLLMNames bool `yaml:"vllm_names"`
}

type logging struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

// auth is `none`, a list of keys, or nothing said.
type auth struct {
	None bool
	Keys []authKey
}

// An authKey is one API key. Exactly one of Key, File, Env and SHA256 is set.
type authKey struct {
	Name   string `yaml:"name"`
	Key    string `yaml:"key"`
	File   string `yaml:"key_file"`
	Env    string `yaml:"key_env"`
	SHA256 string `yaml:"sha256"`
	Manage bool   `yaml:"manage"`

	Requests int `yaml:"requests_per_minute"`
	Tokens   int `yaml:"tokens_per_minute"`
	Streams  int `yaml:"streams"`
}

// MarshalYAML writes keys as their hashes: the output of --print-config can be
// pasted into a configuration and has no key.
func (a auth) MarshalYAML() (any, error) {
	if a.None {
		return "none", nil
	}
	type entry struct {
		Name     string `yaml:"name"`
		SHA256   string `yaml:"sha256"`
		Manage   bool   `yaml:"manage,omitempty"`
		Requests int    `yaml:"requests_per_minute,omitempty"`
		Tokens   int    `yaml:"tokens_per_minute,omitempty"`
		Streams  int    `yaml:"streams,omitempty"`
	}
	out := []entry{}
	for _, k := range a.Keys {
		out = append(out, entry{k.Name, k.SHA256, k.Manage, k.Requests, k.Tokens, k.Streams})
	}
	return out, nil
}

// resolve replaces the key, its file or its variable by the key's SHA-256.
func (k *authKey) resolve(env func(string) (string, bool)) error {
	if k.Name == "" {
		return errors.New("name is missing; it is what logs and metrics show")
	}
	given := 0
	for _, s := range []string{k.Key, k.File, k.Env, k.SHA256} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return fmt.Errorf("key %q: give exactly one of key, key_file, key_env and sha256", k.Name)
	}
	if k.SHA256 != "" {
		if b, err := hex.DecodeString(k.SHA256); err != nil || len(b) != sha256.Size {
			return fmt.Errorf("key %q: sha256 is not 64 hexadecimal digits", k.Name)
		}
		k.SHA256 = strings.ToLower(k.SHA256)
		return nil
	}
	secret, from := k.Key, "it"
	switch {
	case k.File != "":
		b, err := os.ReadFile(k.File)
		if err != nil {
			return fmt.Errorf("key %q: %w", k.Name, err)
		}
		secret, from = string(b), k.File
	case k.Env != "":
		v, _ := env(k.Env)
		if v == "" {
			return fmt.Errorf("key %q: the environment variable %s is not set", k.Name, k.Env)
		}
		secret, from = v, k.Env
	}
	// Files and variables often end with a line break, which no header can carry.
	if secret = strings.TrimSpace(secret); secret == "" {
		return fmt.Errorf("key %q: %s is empty", k.Name, from)
	}
	sum := sha256.Sum256([]byte(secret))
	k.Key, k.File, k.Env, k.SHA256 = "", "", "", hex.EncodeToString(sum[:])
	return nil
}

// check validates settings that depend on each other, and reads key and
// template files.
func (s *Settings) check(env func(string) (string, bool)) error {
	names, secrets := map[string]bool{}, map[string]string{}
	for i := range s.Auth.Keys {
		k := &s.Auth.Keys[i]
		if err := k.resolve(env); err != nil {
			return fmt.Errorf("auth[%d]: %w", i, err)
		}
		if names[k.Name] {
			return fmt.Errorf("auth[%d]: a second key named %q", i, k.Name)
		}
		if twin, ok := secrets[k.SHA256]; ok {
			return fmt.Errorf("auth[%d]: %q has the same key as %q, and limits and the audit log could not tell them apart; leave one out", i, k.Name, twin)
		}
		names[k.Name], secrets[k.SHA256] = true, k.Name
	}
	switch f := s.TLS; {
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("tls: give cert and key, or neither")
	case f.ClientCA != "" && f.Cert == "":
		return errors.New("tls: client_ca needs cert and key")
	}
	if n := s.MemoryLimit; n != 0 && n < leastMemory {
		return fmt.Errorf("memory_limit: %s is less than %s, the least there may be; a number without a unit is bytes: write 8GiB, or 0 for what is free at start", n, leastMemory)
	}
	for path := range s.RequestOverrides {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("request_timeout_overrides.%s: write a path that begins with / and a duration, as /v1/chat/completions: 5m", path)
		}
	}
	for effort, n := range s.ReasoningBudgets {
		if efforts := httpapi.ReasoningEfforts()[1:]; !slices.Contains(efforts, effort) || n < 0 {
			return fmt.Errorf("reasoning_budgets.%s: write one of %s and a number of tokens from 0 up, as low: 1024", effort, strings.Join(efforts, ", "))
		}
	}
	for i := range s.Models {
		m := &s.Models[i]
		if m.Path == "" {
			return fmt.Errorf("models[%d]: path is missing", i)
		}
		if IsHub(m.Path) {
			if _, err := hub.ParseRef(m.Path); err != nil {
				return fmt.Errorf("models[%d]: path: %w", i, err)
			}
		}
		if err := m.check(); err != nil {
			return fmt.Errorf("models[%d]: %w", i, err)
		}
		if o := m.options().Or(s.ModelDefaults.options()); o.Speculation == engine.SpeculationDraft && o.Draft == "" {
			return fmt.Errorf("models[%d]: speculation: draft needs draft, the name or file of a smaller model with the same vocabulary", i)
		}
	}
	if err := s.Jobs.check(); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	if s.Responses.Store == "jobs" && s.Jobs.Store == "off" {
		return errors.New("responses.store is jobs, and jobs.store is off; let jobs.store be embedded, or the addresses of a cluster")
	}
	if err := distinct(s.Models); err != nil {
		return err
	}
	if d := &s.ModelDefaults; d.Name != "" || d.Path != "" {
		return errors.New("model_defaults: name and path belong in models")
	} else if d.Adapters != nil || d.AdapterScales != nil {
		return errors.New("model_defaults: adapters and adapter_scales belong in models: an adapter is of one model")
	} else if err := d.check(); err != nil {
		return fmt.Errorf("model_defaults: %w", err)
	}
	return nil
}

// leastMemory is the least memory_limit: a little more than the built-in model needs. A smaller one is a
// number whose unit was forgotten.
const leastMemory = Size(16 << 20)

func distinct(models []Model) error {
	seen := map[string]bool{}
	for i, m := range models {
		if m.Name != "" && seen[m.Name] {
			return fmt.Errorf("models[%d]: a second model named %q", i, m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}

func (m *Model) check() error {
	for _, name := range slices.Sorted(maps.Keys(m.AdapterScales)) {
		if _, ok := m.Adapters[name]; !ok {
			return fmt.Errorf("adapter_scales.%s: there is no adapter of that name", name)
		}
		if m.AdapterScales[name] == 0 {
			return fmt.Errorf("adapter_scales.%s: 0 leaves nothing of the adapter; ask for the model without it", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Adapters)) {
		switch path := m.Adapters[name]; {
		case path == "":
			return fmt.Errorf("adapters.%s: name a file or a folder", name)
		case IsHub(path):
			return fmt.Errorf("adapters.%s: adapters are not fetched from the hub; name a file or a folder", name)
		}
	}
	if err := engine.CheckDraft(m.Speculation, m.Draft); err != nil {
		return err
	}
	if IsHub(m.Draft) {
		return errors.New("draft: models that draft are not fetched from the hub; name a model or a file")
	}
	if err := m.Diarize.check(); err != nil {
		return err
	}
	key := "chat_template"
	if m.TemplateFile != "" {
		key = "chat_template_file"
		if m.ChatTemplate != "" {
			return errors.New("give chat_template or chat_template_file, not both")
		}
		b, err := os.ReadFile(m.TemplateFile)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		m.ChatTemplate, m.TemplateFile = string(b), ""
	}
	if m.ChatTemplate == "" {
		return nil
	}
	if _, err := chat.New(m.ChatTemplate, chat.Options{}); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}
