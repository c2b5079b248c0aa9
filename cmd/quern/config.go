package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quern/engine"
	"quern/engine/device"
	"quern/engine/hub"
	"quern/engine/transcribe"
	"quern/httpapi"
	"quern/kernels"
)

// A setting is a value of the configuration that a flag or an environment variable can change. The
// table below is the only list of them.
type setting struct {
	flag  string // without "--"
	short string
	env   string
	group string
	usage string // a back-quoted word names the value
	many  bool   // the flag may be repeated
	plain bool   // the flag takes no value

	set func(s *settings, values []string) error
}

const (
	groupFlags  = "Flags"
	groupReply  = "Reply"
	groupServer = "Server"
	groupModel  = "Models"
	groupDevice = "Compute"
	groupLog    = "Log"
)

func settingTable() []setting {
	one := func(f func(*settings, string) error) func(*settings, []string) error {
		return func(s *settings, v []string) error { return f(s, v[0]) }
	}
	return []setting{
		{flag: "listen", short: "l", env: "QUERN_LISTEN", group: groupServer,
			usage: "`address` to serve on; port 0 takes a free one (default 127.0.0.1:8080)",
			set:   one(func(s *settings, v string) error { s.Listen = v; return nil })},
		{flag: "no-auth", group: groupServer, plain: true,
			usage: "serve without API keys even on a public address (auth: none)",
			set:   one(func(s *settings, _ string) error { s.Auth = auth{None: true}; return nil })},
		{env: "QUERN_API_KEY",
			set: one(func(s *settings, v string) error {
				s.Auth = auth{Keys: append(s.Auth.Keys, authKey{Name: "QUERN_API_KEY", Key: v})}
				return nil
			})},
		{flag: "request-timeout", group: groupServer,
			usage: "`time` a request that is not streamed may take; 0 is no limit (default 60s)",
			set:   one(func(s *settings, v string) error { return s.RequestTimeout.parse(v) })},

		{flag: "model", short: "m", group: groupModel, many: true,
			usage: "serve `[NAME=]FILE`, hub:OWNER/NAME[:QUANT], or the model of that name in the configuration; repeatable",
			set:   func(s *settings, v []string) error { return s.selectModels(v) }},
		{flag: "models", env: "QUERN_MODELS", group: groupModel, many: true,
			usage: "`folder` whose model files are served too; repeatable",
			set: func(s *settings, v []string) error {
				s.ModelDirs = nil
				for _, d := range v {
					s.ModelDirs = append(s.ModelDirs, filepath.SplitList(d)...)
				}
				return nil
			}},
		{env: "HF_ENDPOINT",
			set: one(func(s *settings, v string) error { s.Hub.Endpoint = v; return nil })},
		{flag: "builtin", group: groupModel, plain: true,
			usage: "serve the built-in model beside others (alone it is always there)",
			set:   one(func(s *settings, _ string) error { s.Builtin = true; return nil })},
		{flag: "context-length", group: groupModel,
			usage: "context `tokens` of one request (default the model's own, at most 8192)",
			set:   one(func(s *settings, v string) error { return count(&s.ModelDefaults.ContextLength, v) })},
		{flag: "slots", group: groupModel,
			usage: "sequences decoded together, a `number` (default 64)",
			set:   one(func(s *settings, v string) error { return count(&s.ModelDefaults.Slots, v) })},
		{flag: "cache-type", group: groupModel,
			usage: "number `type` of the KV cache: f16, f32 or q8_0, on GPUs also bf16 or fp8 (default f16)",
			set:   one(func(s *settings, v string) error { return s.ModelDefaults.CacheType.parse(v) })},
		{flag: "quantize", group: groupModel,
			usage: "number `type` weights of 16 and 32 bits become when they are loaded: q8_0, q4_k_m, …",
			set:   one(func(s *settings, v string) error { return s.ModelDefaults.Quantize.parse(v) })},
		{flag: "vad", group: groupModel,
			usage: "`file` of the Silero detector that tells recognisers what is speech (default a built-in one, by energy)",
			set: one(func(s *settings, v string) error {
				s.ModelDefaults.VAD = v
				_, err := transcribe.OpenDetector(v)
				return err
			})},
		{flag: "keep-alive", group: groupModel,
			usage: "idle `time` after which a model is unloaded; never keeps it (default 5m)",
			set:   one(func(s *settings, v string) error { return s.KeepAlive.parse(v) })},

		{flag: "threads", short: "t", env: "QUERN_THREADS", group: groupDevice,
			usage: "compute threads, a `number`; 0 is one per core (default 0)",
			set:   one(func(s *settings, v string) error { return count(&s.Threads, v) })},
		{flag: "device", env: "QUERN_DEVICE", group: groupDevice,
			usage: "where models run, a `name`: auto, cpu, cuda or cuda:0,1 (default auto)",
			set:   one(func(s *settings, v string) error { return s.Device.parse(v) })},
		{flag: "gpu-layers", group: groupDevice,
			usage: "how many layers of a text model, the last ones, run on the GPU, a `number`; the CPU has the others (default all)",
			set:   one(func(s *settings, v string) error { return count(&s.GPULayers, v) })},
		{flag: "memory-limit", group: groupDevice,
			usage: "memory loaded models may use, a `size` such as 8GiB (default what is free at start)",
			set:   one(func(s *settings, v string) error { return s.MemoryLimit.parse(v) })},

		{flag: "log-level", env: "QUERN_LOG_LEVEL", group: groupLog,
			usage: "least `level` logged: debug, info, warn or error (default info)",
			set:   one(func(s *settings, v string) error { return s.Log.Level.parse(v) })},
		{flag: "log-format", env: "QUERN_LOG_FORMAT", group: groupLog,
			usage: "`format` of the log: text or json (default text)",
			set:   one(func(s *settings, v string) error { return s.Log.Format.parse(v) })},
	}
}

func count(dst *int, s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return fmt.Errorf("%q is not a whole number from 0 up", s)
	}
	*dst = int(n)
	return nil
}

// addSettings gives cmd the flags of the named settings, and --config.
func addSettings(cmd *cobra.Command, names ...string) {
	flags := cmd.Flags()
	flags.StringP("config", "c", "", "settings `file` (default quern.yaml here, else in the user's configuration folder)")
	group(flags, "config", groupFlags)
	for _, k := range settingTable() {
		if !contains(names, k.flag) {
			continue
		}
		switch {
		case k.many:
			flags.StringArrayP(k.flag, k.short, nil, k.usage)
		case k.plain:
			flags.BoolP(k.flag, k.short, false, k.usage)
		default:
			flags.StringP(k.flag, k.short, "", k.usage)
		}
		group(flags, k.flag, k.group)
		flags.Lookup(k.flag).Annotations[settingAnnotation] = []string{k.flag}
	}
}

// settingAnnotation marks the flags addSettings made: a command may have one of
// its own that is spelled the same.
const settingAnnotation = "quern_setting"

// group names the heading a flag stands under in --help.
func group(flags *pflag.FlagSet, flag, name string) {
	f := flags.Lookup(flag)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[groupAnnotation] = []string{name}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s && s != "" {
			return true
		}
	}
	return false
}

// loaded is the outcome of reading the settings.
type loaded struct {
	settings
	file     string   // the configuration read, "" when there is none
	warnings []string // for the log, once there is one
}

// load reads the settings of one run: defaults, then the file, then QUERN_*,
// then the flags given to cmd.
func (a *app) load(cmd *cobra.Command, level logLevel) (*loaded, error) {
	out := &loaded{settings: defaultSettings()}
	out.Log.Level = level
	file, from := a.configFile(cmd)
	if file != "" {
		data, err := os.ReadFile(file)
		switch {
		case err == nil:
			if err := decodeYAML(file, data, &out.settings); err != nil {
				return nil, usageError{err}
			}
			out.file = file
			if err := out.relativeTo(filepath.Dir(file)); err != nil {
				return nil, usageError{fmt.Errorf("%s: %w", file, err)}
			}
		case from != "" || !errors.Is(err, fs.ErrNotExist):
			return nil, usageError{fmt.Errorf("%s: %w", cmp.Or(from, "configuration"), err)}
		}
	}
	list := settingTable()
	for _, k := range list {
		if v, _ := a.env(k.env); k.env != "" && v != "" {
			if err := k.set(&out.settings, []string{v}); err != nil {
				return nil, usageError{fmt.Errorf("environment variable %s: %w", k.env, err)}
			}
		}
	}
	for _, k := range list {
		f := cmd.Flags().Lookup(k.flag)
		if k.flag == "" || f == nil || !f.Changed || f.Annotations[settingAnnotation] == nil {
			continue
		}
		values := []string{f.Value.String()}
		if s, ok := f.Value.(pflag.SliceValue); ok {
			values = s.GetSlice()
		}
		if k.plain && values[0] == "false" {
			continue
		}
		if err := k.set(&out.settings, values); err != nil {
			return nil, usageError{fmt.Errorf("--%s: %w", k.flag, err)}
		}
	}
	if out.Device == "cpu" || out.Device == "auto" && device.Check("cuda") != nil {
		if err := idle(cmd, "models run on the CPU", "gpu-layers"); err != nil {
			return nil, err
		}
	}
	if err := out.check(a.env); err != nil {
		if out.file != "" {
			err = fmt.Errorf("%s: %w", out.file, err)
		}
		return nil, usageError{err}
	}
	out.warnings = a.strangers(list)
	if n := runtime.NumCPU(); out.Threads > n {
		out.warnings = append(out.warnings, fmt.Sprintf("threads is %d, and this machine has %d processors: more threads than those only wait for each other", out.Threads, n))
	}
	return out, nil
}

// configFile says which file to read, and who named it: "" if nobody did.
func (a *app) configFile(cmd *cobra.Command) (name, from string) {
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		return f.Value.String(), "--config"
	}
	if v, _ := a.env("QUERN_CONFIG"); v != "" {
		return v, "QUERN_CONFIG"
	}
	places := []string{"quern.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "quern", "quern.yaml"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return p, ""
		}
	}
	return "", ""
}

// strangers finds QUERN_ variables that mean nothing, which are mostly typing
// mistakes.
func (a *app) strangers(list []setting) []string {
	known := []string{"QUERN_CONFIG", "QUERN_CPU", "QUERN_OFFLINE"}
	for _, k := range list {
		if k.env != "" {
			known = append(known, k.env)
		}
	}
	var out []string
	for _, kv := range a.environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "QUERN_") || contains(known, name) {
			continue
		}
		msg := name + " is not a variable quern reads"
		if c := closest(name, known); c != "" {
			msg += "; did you mean " + c + "?"
		}
		out = append(out, msg)
	}
	sort.Strings(out)
	return out
}

// relativeTo makes the file names in s relative to the folder of the
// configuration they stand in.
func (s *settings) relativeTo(dir string) error {
	fix := func(p *string) error {
		if *p == "" || isHub(*p) {
			return nil
		}
		if rest, ok := strings.CutPrefix(*p, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return err
			}
			*p = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
		return nil
	}
	var paths []*string
	for i := range s.Models {
		paths = append(paths, &s.Models[i].Path, &s.Models[i].TemplateFile, &s.Models[i].VAD)
	}
	paths = append(paths, &s.ModelDefaults.TemplateFile, &s.ModelDefaults.VAD, &s.Hub.TokenFile)
	for i := range s.ModelDirs {
		paths = append(paths, &s.ModelDirs[i])
	}
	for i := range s.Auth.Keys {
		paths = append(paths, &s.Auth.Keys[i].File)
	}
	for _, p := range paths {
		if err := fix(p); err != nil {
			return err
		}
	}
	return nil
}

// maxThreads bounds the compute threads. They spin while they wait for each other.
const maxThreads = 1024

// check validates what one value alone does not show, and reads key and
// template files.
func (s *settings) check(env func(string) (string, bool)) error {
	if err := kernels.CheckLevel(); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(s.Listen); err != nil {
		return fmt.Errorf("listen: %q is not HOST:PORT, for example 127.0.0.1:8080 or :8080", s.Listen)
	}
	if s.Threads > maxThreads {
		return fmt.Errorf("threads: at most %d, got %d; 0 takes one per core", maxThreads, s.Threads)
	}
	names := map[string]bool{}
	for i := range s.Auth.Keys {
		k := &s.Auth.Keys[i]
		if err := k.resolve(env); err != nil {
			return fmt.Errorf("auth[%d]: %w", i, err)
		}
		if names[k.Name] {
			return fmt.Errorf("auth[%d]: a second key named %q", i, k.Name)
		}
		names[k.Name] = true
	}
	for _, d := range []struct {
		key   string
		value duration
	}{
		{"load_timeout", s.LoadTimeout}, {"memory_wait", s.MemoryWait}, {"request_timeout", s.RequestTimeout},
		{"stream_write_timeout", s.StreamWrite}, {"stall_timeout", s.StallTimeout},
		{"keepalive_interval", s.KeepAliveInterval}, {"header_delay", s.HeaderDelay},
		{"shutdown_grace", s.ShutdownGrace},
	} {
		if d.value == never {
			return fmt.Errorf("%s: never is only for keep_alive", d.key)
		}
	}
	if s.KeepAlive == 0 || s.LoadTimeout == 0 || s.MemoryWait == 0 {
		return errors.New("keep_alive, load_timeout, memory_wait: must be more than 0 (keep_alive may be never)")
	}
	for path, d := range s.RequestOverrides {
		if !strings.HasPrefix(path, "/") || d == never {
			return fmt.Errorf("request_timeout_overrides.%s: write a path that begins with / and a duration, as /v1/chat/completions: 5m", path)
		}
	}
	if s.Limits.JSONBody <= 0 {
		return errors.New("limits.json_body: must be more than 0")
	}
	if s.Limits.Upload <= 0 {
		return errors.New("limits.upload: must be more than 0")
	}
	if s.Limits.TempFiles <= 0 {
		return errors.New("limits.temp_files: must be more than 0")
	}
	if s.Limits.SpeechChars < 1 {
		return errors.New("limits.speech_chars: must be at least 1")
	}
	if s.Limits.MaxN < 1 {
		return errors.New("limits.max_n: must be at least 1")
	}
	if s.DefaultMaxTokens < 0 {
		return errors.New("default_max_tokens: must not be negative; 0 is the rest of the context")
	}
	if s.CompletionsTokens < 1 {
		return errors.New("completions_max_tokens: must be at least 1")
	}
	if n := s.Limits.MaxLogprobs; n < 1 || n > httpapi.MostLogprobs {
		return fmt.Errorf("limits.max_logprobs: must be from 1 to %d, got %d", httpapi.MostLogprobs, n)
	}
	for _, o := range s.CORS.AllowedOrigins {
		if strings.Count(o, "*") > 1 {
			return fmt.Errorf("cors.allowed_origins: %q has more than one *", o)
		}
	}
	seen := map[string]bool{}
	for i := range s.Models {
		m := &s.Models[i]
		if m.Path == "" {
			return fmt.Errorf("models[%d]: path is missing", i)
		}
		if isHub(m.Path) {
			if _, err := hub.ParseRef(m.Path); err != nil {
				return fmt.Errorf("models[%d]: path: %w", i, err)
			}
		}
		if m.Name != "" && seen[m.Name] {
			return fmt.Errorf("models[%d]: a second model named %q", i, m.Name)
		}
		seen[m.Name] = true
		if err := m.check(); err != nil {
			return fmt.Errorf("models[%d]: %w", i, err)
		}
	}
	if d := &s.ModelDefaults; d.Name != "" || d.Path != "" {
		return errors.New("model_defaults: name and path belong in models")
	} else if err := d.check(); err != nil {
		return fmt.Errorf("model_defaults: %w", err)
	}
	return nil
}

func (m *modelSettings) check() error {
	for _, c := range []struct {
		key   string
		value int
	}{
		{"context_length", m.ContextLength}, {"slots", m.Slots}, {"queue", m.Queue},
		{"batch", m.Batch}, {"sampling.max_tokens", m.Sampling.MaxTokens},
	} {
		if c.value < 0 {
			return fmt.Errorf("%s: %d is negative", c.key, c.value)
		}
	}
	if k := m.Sampling.TopK; k != nil && *k < 0 {
		return fmt.Errorf("sampling.top_k: %d is negative; 0 turns it off", *k)
	}
	for _, c := range []struct {
		key   string
		value *float32
		max   float32
	}{
		{"temperature", m.Sampling.Temperature, 2},
		{"top_p", m.Sampling.TopP, 1},
		{"min_p", m.Sampling.MinP, 1},
	} {
		// Written so that NaN fails too.
		if c.value != nil && !(*c.value >= 0 && *c.value <= c.max) {
			return fmt.Errorf("sampling.%s: must be between 0 and %g, got %g", c.key, c.max, *c.value)
		}
	}
	if r := m.Sampling.RepeatPenalty; r != nil && !(*r > 0) {
		return fmt.Errorf("sampling.repeat_penalty: must be more than 0 (1 is off), got %g", *r)
	}
	if m.VAD != "" {
		if _, err := transcribe.OpenDetector(m.VAD); err != nil {
			return fmt.Errorf("vad: %w", err)
		}
	}
	if m.TemplateFile == "" {
		return nil
	}
	if m.ChatTemplate != "" {
		return errors.New("give chat_template or chat_template_file, not both")
	}
	b, err := os.ReadFile(m.TemplateFile)
	if err != nil {
		return fmt.Errorf("chat_template_file: %w", err)
	}
	m.ChatTemplate, m.TemplateFile = string(b), ""
	return nil
}

// engineOptions translates s for engine.New.
func (s *settings) engineOptions(log *slog.Logger) engine.Options {
	o := engine.Options{
		Dirs:    s.ModelDirs,
		Builtin: s.Builtin,
		Aliases: s.Aliases,

		VoiceAliases: s.VoiceAliases,
		Defaults:     map[engine.Kind]string{},
		Threads:      s.Threads,
		Device:       string(s.Device),
		GPULayers:    s.layers(),
		LoadTimeout:  s.LoadTimeout.std(),
		MemoryWait:   s.MemoryWait.std(),
		KeepAlive:    s.KeepAlive.std(),
		MemoryLimit:  int64(s.MemoryLimit),
		Defaulted:    s.ModelDefaults.options(),
		Log:          log,
	}
	for _, m := range s.Models {
		o.Models = append(o.Models, m.options())
	}
	for kind, name := range map[engine.Kind]string{
		engine.KindChat:          s.Defaults.Chat,
		engine.KindCompletion:    s.Defaults.Completion,
		engine.KindEmbedding:     s.Defaults.Embedding,
		engine.KindRerank:        s.Defaults.Rerank,
		engine.KindSpeech:        s.Defaults.Speech,
		engine.KindTranscription: s.Defaults.Transcription,
	} {
		if name != "" {
			o.Defaults[kind] = name
		}
	}
	return o
}

func (m *modelSettings) options() engine.ModelOptions {
	return engine.ModelOptions{
		Name:          m.Name,
		Path:          m.Path,
		Fetch:         m.fetch,
		ContextLength: m.ContextLength,
		Slots:         m.Slots,
		Queue:         m.Queue,
		Batch:         m.Batch,
		CacheType:     m.CacheType.number(),
		CacheBytes:    int64(m.CacheMemory),
		ChatTemplate:  m.ChatTemplate,
		Quantize:      string(m.Quantize),
		Detector:      m.VAD,
		Preload:       m.Preload,
		KeepAlive:     m.KeepAlive.std(),

		QueryPrefix: m.QueryPrefix, DocumentPrefix: m.DocumentPrefix, Matryoshka: m.Matryoshka,
		Sampling: engine.Sampling{
			Temperature:   m.Sampling.Temperature,
			TopP:          m.Sampling.TopP,
			TopK:          m.Sampling.TopK,
			MinP:          m.Sampling.MinP,
			RepeatPenalty: m.Sampling.RepeatPenalty,
			MaxTokens:     m.Sampling.MaxTokens,
		},
	}
}
