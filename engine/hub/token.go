package hub

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// A Token opens gated and private repositories. However it is printed, its
// value is not.
type Token struct {
	value  string
	Source string // where it came from: a variable or a file
}

// NewToken takes a token and a name of where it came from.
func NewToken(value, source string) (Token, error) {
	value = strings.TrimSpace(value)
	for i := range len(value) {
		if value[i] <= ' ' || value[i] >= 0x7f {
			return Token{}, fmt.Errorf("%s holds no token: a token is one word", source)
		}
	}
	if len(value) > 4096 {
		return Token{}, fmt.Errorf("%s holds no token: it is too long", source)
	}
	return Token{value: value, Source: source}, nil
}

// Set reports whether there is a token.
func (t Token) Set() bool { return t.value != "" }

// String hides the value.
func (t Token) String() string {
	if !t.Set() {
		return "no token"
	}
	return "token from " + t.Source
}

// GoString hides the value from %#v.
func (t Token) GoString() string { return t.String() }

// LogValue hides the value from slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText hides the value from encoders.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// FindToken looks where tokens usually are: HF_TOKEN, then file, then the file
// HF_TOKEN_PATH names, then the one the hub's own tools write. env looks up
// environment variables. Without a token anywhere it returns none; a file that
// was named and cannot be read is an error.
func FindToken(env func(string) (string, bool), file string) (Token, error) {
	for _, name := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"} {
		if v, _ := env(name); strings.TrimSpace(v) != "" {
			return NewToken(v, name)
		}
	}
	if file != "" {
		return readToken(file)
	}
	standard, _ := env("HF_TOKEN_PATH")
	if standard == "" {
		if home := hfHome(env); home != "" {
			standard = filepath.Join(home, "token")
		}
	}
	if standard == "" {
		return Token{}, nil
	}
	t, err := readToken(standard)
	if errors.Is(err, fs.ErrNotExist) {
		return Token{}, nil
	}
	return t, err
}

func readToken(file string) (Token, error) {
	f, err := os.Open(file)
	if err != nil {
		return Token{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return Token{}, err
	}
	return NewToken(string(b), file)
}

// hfHome is the folder the hub's own tools keep tokens and files in.
func hfHome(env func(string) (string, bool)) string {
	if v, _ := env("HF_HOME"); v != "" {
		return v
	}
	if v, _ := env("XDG_CACHE_HOME"); v != "" {
		return filepath.Join(v, "huggingface")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".cache", "huggingface")
	}
	return ""
}

// CacheDir is the folder of the Hugging Face cache, "" when there can be none.
func CacheDir(env func(string) (string, bool)) string {
	for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"} {
		if v, _ := env(name); v != "" {
			return v
		}
	}
	if home := hfHome(env); home != "" {
		return filepath.Join(home, "hub")
	}
	return ""
}
