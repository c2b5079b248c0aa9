package hub

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseRef(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Ref
		ok   bool
	}{
		{"a/b", Ref{Owner: "a", Name: "b"}, true},
		{"hub:a/b", Ref{Owner: "a", Name: "b"}, true},
		{"Qwen/Qwen2.5-0.5B_x:q4_k_m", Ref{Owner: "Qwen", Name: "Qwen2.5-0.5B_x", Quant: "Q4_K_M"}, true},
		{"a/b:UD-q4_K_XL@v1.0", Ref{Owner: "a", Name: "b", Quant: "UD-Q4_K_XL", Revision: "v1.0"}, true},
		{"a/b/c d/e.gguf@refs/pr/3", Ref{Owner: "a", Name: "b", File: "c d/e.gguf", Revision: "refs/pr/3"}, true},
		{"a/b/é.gguf", Ref{Owner: "a", Name: "b", File: "é.gguf"}, true},
		{"hf.co/a/b:q8_0", Ref{Owner: "a", Name: "b", Quant: "Q8_0"}, true},
		{"hub:HuggingFace.co/a/b/c.gguf@v1", Ref{Owner: "a", Name: "b", File: "c.gguf", Revision: "v1"}, true},
		{"https://huggingface.co/a/b", Ref{Owner: "a", Name: "b"}, true},
		{"https://www.huggingface.co/a/b/tree/main", Ref{Owner: "a", Name: "b"}, true},
		{"https://huggingface.co/a/b/blob/main/c/d%20e.gguf", Ref{Owner: "a", Name: "b", File: "c/d e.gguf"}, true},
		{"https://huggingface.co/a/b/resolve/v1.0/c.gguf?download=true", Ref{Owner: "a", Name: "b", File: "c.gguf", Revision: "v1.0"}, true},
		{"https://huggingface.co/a/b/blob/main/..%2f..%2fc", Ref{}, false},
		{"https://huggingface.co/a/b/blob/main/%zz", Ref{Owner: "a", Name: "b", File: "%zz"}, true},
		{"https://huggingface.co/", Ref{}, false},
		{"ftp://huggingface.co/a/b", Ref{}, false},
		{"https://huggingface.co.example.org/a/b", Ref{}, false},
		{"hf.co/hf.co/b", Ref{}, false},
		{"", Ref{}, false},
		{"a", Ref{}, false},
		{"/b", Ref{}, false},
		{"a/", Ref{}, false},
		{"../b", Ref{}, false},
		{"a/..", Ref{}, false},
		{"a/b--c", Ref{}, false},
		{"a/b..c", Ref{}, false},
		{"a/-b", Ref{}, false},
		{"a/b.", Ref{}, false},
		{"a/b.git", Ref{}, false},
		{"a b/c", Ref{}, false},
		{"a/" + strings.Repeat("b", 97), Ref{}, false},
		{"a/b:", Ref{}, false},
		{"a/b:q4/x", Ref{}, false},
		{"a/b:q4:x", Ref{}, false},
		{"a/b/", Ref{}, false},
		{"a/b/../c", Ref{}, false},
		{"a/b//c", Ref{}, false},
		{"a/b/./c", Ref{}, false},
		{"a/b/c\\d", Ref{}, false},
		{"a/b/c:d", Ref{}, false},
		{"a/b/c\x00d", Ref{}, false},
		{"a/b/c.part", Ref{}, false},
		{"a/b/c.PART.json", Ref{}, false},
		{"a/b/.hub.json", Ref{}, false},
		{"a/b@", Ref{}, false},
		{"a/b@../x", Ref{}, false},
		{"a/b@x@y", Ref{}, false},
		{"a/b@-x", Ref{}, false},
		{"a/b@x//y", Ref{}, false},
		{"https://example.org/a/b", Ref{}, false},
		{"hub:hub:a/b", Ref{}, false},
	} {
		t.Run(tt.in, func(t *testing.T) {
			got, err := ParseRef(tt.in)
			if (err == nil) != tt.ok || got != tt.want {
				t.Errorf("ParseRef(%q) = %+v, %v; want %+v, %v", tt.in, got, err, tt.want, tt.ok)
			}
			if err != nil && !errors.Is(err, ErrRef) {
				t.Errorf("error %v does not wrap ErrRef", err)
			}
		})
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"a/b", "hub:a/b:q4_k_m@v1", "a/b/c/d.gguf@refs/pr/3", "a/b/../../c", "a/b:@", "https://hf.co/a/b/blob/x/c", "hf.co/hub:a/b", "/", "a/b/\\x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			if !errors.Is(err, ErrRef) || r != (Ref{}) {
				t.Fatalf("ParseRef(%q) = %+v, %v", s, r, err)
			}
			return
		}
		again, err := ParseRef(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is %+v, read back from %q as %+v, %v", s, r, r.String(), again, err)
		}
		root := string(filepath.Separator) + "store"
		for _, p := range []string{r.Repo(), r.Repo() + "/" + r.File} {
			if full := filepath.Join(root, filepath.FromSlash(p)); !strings.HasPrefix(full, filepath.Join(root, r.Owner, r.Name)) {
				t.Fatalf("%q leaves the store: %s", s, full)
			}
		}
	})
}
