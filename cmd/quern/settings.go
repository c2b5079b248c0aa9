package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"quern/engine/device"
	"quern/engine/quantize"
	"quern/kernels/quant"
)

// settings is everything quern can be told, spelled as in quern.yaml.
// quern.example.yaml explains every key.
type settings struct {
	Listen       string   `yaml:"listen"`
	AllowedHosts []string `yaml:"allowed_hosts"`
	Auth         auth     `yaml:"auth"`
	CORS         cors     `yaml:"cors"`

	Models        []modelSettings   `yaml:"models"`
	ModelDirs     []string          `yaml:"model_dirs"`
	Builtin       bool              `yaml:"builtin"`
	Aliases       map[string]string `yaml:"aliases"`
	VoiceAliases  map[string]string `yaml:"voice_aliases"`
	Defaults      defaultModels     `yaml:"defaults"`
	ModelDefaults modelSettings     `yaml:"model_defaults"`
	Hub           hubSettings       `yaml:"hub"`

	Threads     int        `yaml:"threads"`
	Device      deviceName `yaml:"device"`
	GPULayers   int        `yaml:"gpu_layers"`
	MemoryLimit size       `yaml:"memory_limit"`

	KeepAlive         duration            `yaml:"keep_alive"`
	LoadTimeout       duration            `yaml:"load_timeout"`
	MemoryWait        duration            `yaml:"memory_wait"`
	RequestTimeout    duration            `yaml:"request_timeout"`
	RequestOverrides  map[string]duration `yaml:"request_timeout_overrides"`
	StreamWrite       duration            `yaml:"stream_write_timeout"`
	StallTimeout      duration            `yaml:"stall_timeout"`
	KeepAliveInterval duration            `yaml:"keepalive_interval"`
	HeaderDelay       duration            `yaml:"header_delay"`
	ShutdownGrace     duration            `yaml:"shutdown_grace"`

	DefaultMaxTokens  int `yaml:"default_max_tokens"`
	CompletionsTokens int `yaml:"completions_max_tokens"`

	Limits  limits  `yaml:"limits"`
	Metrics metrics `yaml:"metrics"`
	Log     logging `yaml:"log"`
}

type cors struct {
	AllowedOrigins []string `yaml:"allowed_origins"`
}

type hubSettings struct {
	Endpoint  string `yaml:"endpoint"`
	TokenFile string `yaml:"token_file"`
	Pull      bool   `yaml:"pull"`
}

type defaultModels struct {
	Chat          string `yaml:"chat"`
	Completion    string `yaml:"completion"`
	Embedding     string `yaml:"embedding"`
	Rerank        string `yaml:"rerank"`
	Speech        string `yaml:"speech"`
	Transcription string `yaml:"transcription"`
}

// modelSettings are one entry of models. Fields left out take model_defaults'.
type modelSettings struct {
	Name          string    `yaml:"name,omitempty"`
	Path          string    `yaml:"path,omitempty"`
	ContextLength int       `yaml:"context_length,omitempty"`
	Slots         int       `yaml:"slots,omitempty"`
	Queue         int       `yaml:"queue,omitempty"`
	Batch         int       `yaml:"batch,omitempty"`
	CacheType     cacheType `yaml:"cache_type,omitempty"`
	CacheMemory   size      `yaml:"cache_memory,omitempty"`
	Quantize      mixture   `yaml:"quantize,omitempty"`
	ChatTemplate  string    `yaml:"chat_template,omitempty"`
	TemplateFile  string    `yaml:"chat_template_file,omitempty"`
	VAD           string    `yaml:"vad,omitempty"`
	Preload       bool      `yaml:"preload,omitempty"`
	KeepAlive     duration  `yaml:"keep_alive,omitempty"`
	Sampling      sampling  `yaml:"sampling,omitempty"`

	QueryPrefix    *string `yaml:"query_prefix,omitempty"`
	DocumentPrefix *string `yaml:"document_prefix,omitempty"`
	Matryoshka     *bool   `yaml:"matryoshka,omitempty"`

	fetch func(context.Context, func(done, total int64)) (string, error) // of a hub model that is not here yet
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
	JSONBody    size `yaml:"json_body"`
	Upload      size `yaml:"upload"`
	TempFiles   size `yaml:"temp_files"`
	SpeechChars int  `yaml:"speech_chars"`
	MaxN        int  `yaml:"max_n"`
	MaxLogprobs int  `yaml:"max_logprobs"`
}

type metrics struct {
	Public    bool `yaml:"public"`
	VLLMNames bool `yaml:"vllm_names"`
}

type logging struct {
	Level  logLevel  `yaml:"level"`
	Format logFormat `yaml:"format"`
}

// defaultSettings are the values of keys nobody set.
func defaultSettings() settings {
	minutes := func(n int) duration { return duration(n) * duration(time.Minute) }
	seconds := func(n int) duration { return duration(n) * duration(time.Second) }
	return settings{
		Listen: "127.0.0.1:8080",
		CORS: cors{AllowedOrigins: []string{
			"http://localhost:*", "https://localhost:*", "http://127.0.0.1:*", "https://127.0.0.1:*",
			"http://[::1]:*", "https://[::1]:*", "app://*",
		}},
		Hub:               hubSettings{Pull: true},
		Device:            "auto",
		GPULayers:         -1,
		KeepAlive:         minutes(5),
		LoadTimeout:       minutes(10),
		MemoryWait:        minutes(1),
		RequestTimeout:    seconds(60),
		StreamWrite:       seconds(30),
		KeepAliveInterval: seconds(15),
		HeaderDelay:       seconds(5),
		ShutdownGrace:     seconds(30),
		CompletionsTokens: 16,
		Limits:            limits{JSONBody: 16 << 20, Upload: 512 << 20, TempFiles: 8 << 30, SpeechChars: 50000, MaxN: 8, MaxLogprobs: 5},
		Metrics:           metrics{VLLMNames: true},
		Log:               logging{Level: "info", Format: "text"},
	}
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
}

// MarshalYAML writes keys as their hashes: what --print-config shows can be
// pasted into a configuration and gives no key away.
func (a auth) MarshalYAML() (any, error) {
	if a.None {
		return "none", nil
	}
	type entry struct {
		Name   string `yaml:"name"`
		SHA256 string `yaml:"sha256"`
	}
	out := []entry{}
	for _, k := range a.Keys {
		out = append(out, entry{k.Name, k.SHA256})
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
	secret := k.Key
	switch {
	case k.File != "":
		b, err := os.ReadFile(k.File)
		if err != nil {
			return fmt.Errorf("key %q: %w", k.Name, err)
		}
		secret = strings.TrimSpace(string(b))
		if secret == "" {
			return fmt.Errorf("key %q: %s is empty", k.Name, k.File)
		}
	case k.Env != "":
		v, _ := env(k.Env)
		if v == "" {
			return fmt.Errorf("key %q: the environment variable %s is not set", k.Name, k.Env)
		}
		secret = v
	}
	sum := sha256.Sum256([]byte(secret))
	*k = authKey{Name: k.Name, SHA256: hex.EncodeToString(sum[:])}
	return nil
}

// A duration is written as 60s, 15m or 1h30m; 0 needs no unit. never is -1.
type duration time.Duration

const never duration = -1

func (d *duration) parse(s string) error {
	switch s {
	case "0":
		*d = 0
		return nil
	case "-1", "never":
		*d = never
		return nil
	}
	v, err := time.ParseDuration(s)
	switch {
	case err != nil && strings.Trim(s, "0123456789.") == "" && s != "":
		return fmt.Errorf("%s has no unit; write %ss for seconds", s, s)
	case err != nil:
		return fmt.Errorf("%q is not a duration such as 60s, 15m or 1h30m", s)
	case v < 0:
		return fmt.Errorf("%s is negative", s)
	}
	*d = duration(v)
	return nil
}

// std is d as the packages below take it: negative means never.
func (d duration) std() time.Duration { return time.Duration(d) }

// orOff is d as httpapi takes timeouts, where 0 means the default.
func (d duration) orOff() time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}

func (d duration) String() string {
	switch {
	case d == never:
		return "never"
	case d == 0:
		return "0"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (d duration) MarshalYAML() (any, error) { return d.String(), nil }

// A size is a number of bytes, written as 16MiB, 2GB or 1024.
type size int64

func (b *size) parse(s string) error {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > 1<<62 {
		return fmt.Errorf("%q is not a size such as 16MiB or 2GiB", s)
	}
	*b = size(n)
	return nil
}

// String is exact: parse gives the same number back.
func (b size) String() string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB", "PiB"}
	n, i := int64(b), 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return strconv.FormatInt(n, 10) + units[i]
}

func (b size) MarshalYAML() (any, error) { return b.String(), nil }

type deviceName string

// layers is the option the engine wants: nil for all.
func (s *settings) layers() *int {
	if s.GPULayers < 0 {
		return nil
	}
	return &s.GPULayers
}

func (d *deviceName) parse(s string) error {
	*d = deviceName(strings.ToLower(s))
	return device.Check(string(*d))
}

type logLevel string

var logLevels = []string{"debug", "info", "warn", "error"}

func (l *logLevel) parse(s string) error { return oneOf((*string)(l), s, logLevels...) }

type logFormat string

var logFormats = []string{"text", "json"}

func (f *logFormat) parse(s string) error { return oneOf((*string)(f), s, logFormats...) }

type cacheType string

var cacheTypes = []string{"f16", "f32", "q8_0", "bf16", "fp8"}

func (c *cacheType) parse(s string) error { return oneOf((*string)(c), s, cacheTypes...) }

// number is quant's name for c; Invalid, the zero value, when c is not set.
func (c cacheType) number() quant.Type {
	switch c {
	case "f16":
		return quant.F16
	case "f32":
		return quant.F32
	case "q8_0":
		return quant.Q8_0
	case "bf16":
		return quant.BF16
	case "fp8":
		return quant.F8_E4M3
	}
	return quant.Invalid
}

// A mixture is what weights are quantised to when they are loaded.
type mixture string

func (m *mixture) parse(s string) error {
	if err := quantize.Check(s); err != nil {
		return err
	}
	*m = mixture(strings.ToLower(s))
	return nil
}

func oneOf(dst *string, s string, allowed ...string) error {
	low := strings.ToLower(s)
	for _, a := range allowed {
		if low == a {
			*dst = a
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(allowed, ", "))
}
