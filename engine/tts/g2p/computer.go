package g2p

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Addresses of the net, files, paths and flags: their parts are words, their signs
// are named.
var (
	mail   = lazy(`^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}`)
	web    = lazy(`^(?:[a-z][a-z0-9+.-]{1,11}://|www\.)[^\s<>"”)\]]+`)
	domain = lazy(`^[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.(?:` + topLevel + `)\b(?::\d{2,5})?(?:/[^\s<>"”)\]]*)?`)
	local  = lazy(`^localhost(?::\d{2,5})?(?:/[^\s<>"”)\]]*)?`)
	short  = lazy(`^[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,3}\.[a-z]{2,4}/[A-Za-z0-9][A-Za-z0-9_/?=&%#.+~-]*`)
	file   = lazy(`^[A-Za-z0-9_.~*+-]*\.(?i:` + endings + `)(?:\.\d+)*\b`)
	path   = lazy(`^(?:~|\.{1,2})?/[A-Za-z0-9_.~*+@-]+(?:/[A-Za-z0-9_.~*+@-]*)*(?:\?[A-Za-z0-9_]+=[A-Za-z0-9_=&%.+-]*)?|^(?:[A-Za-z]:|\\)\\[A-Za-z0-9_.~* +@\\-]*[A-Za-z0-9_*\\]|^[ru]/[A-Za-z0-9_]{3,21}\b`)
	within = lazy(`^[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/[A-Za-z0-9_-]+\.(?:` + endings + `)\b`)
	flag   = lazy(`^--[A-Za-z][A-Za-z0-9-]*(?:=[^\s,;]*)?|^-[A-Za-z]{1,3}\d{0,3}\b`)
)

// Addresses of network cards, 00:1A:2B:3C:4D:5E, and of machines.
var (
	hardware = pattern{re(`[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}`), func(m []string, s *scanner) []string {
		return inGroups(m[0], ":-")
	}}
	// 2001:db8::1/64: eight groups, or fewer around two colons
	internet = pattern{re(`[0-9A-Fa-f]{1,4}(?:::?[0-9A-Fa-f]{1,4}){1,7}(?:/(\d{1,3}))?`), func(m []string, s *scanner) []string {
		address, _, _ := strings.Cut(m[0], "/")
		if digitsOf(address) == "" || !strings.Contains(address, "::") && strings.Count(address, ":") != 7 {
			return nil
		}
		var out []string
		for k, group := range strings.Split(address, ":") {
			if k > 0 {
				out = append(out, "colon")
			}
			out = append(out, characters(group)...)
		}
		if m[1] != "" {
			out = join(out, []string{"slash"}, cardinal(m[1], s.accent))
		}
		return out
	}}
)

// endings of files.
const endings = `md|js|ts|tsx|jsx|mjs|py|ipynb|sh|rb|rs|cpp|hpp|cs|html?|css|txt|csv|tsv|xml|pdf|png|jpe?g|gif|svg|webp|mp3|mp4|wav|flac|ogg|zip|gz|tar|exe|dll|so|go|mod|sum|ya?ml|json|jsonl|toml|ini|cfg|conf|log|lock|sql|db|docx?|xlsx?|pptx?|java|kt|swift|php|lua|env|bin|dat|iso|img|dmg|deb|rpm|apk|bak|tmp|gguf|safetensors|onnx|wasm`

// topLevel are endings of domains.
const topLevel = `com|org|net|io|edu|gov|dev|ai|co|uk|de|app|info|eu|fr|jp|ca|au|me|tv`

// files and domains are the words of those expressions.
var files, domains = words(endings), words(topLevel)

// words returns those of an expression a|bc?d.
func words(expression string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for word := range strings.SplitSeq(expression, "|") {
			head, tail, _ := strings.Cut(word, "?")
			out[head+tail] = true
			if head != word {
				out[head[:len(head)-1]+tail] = true
			}
		}
		return out
	})
}

// ended reports whether a dot in s has one of endings behind it. Asking that first keeps a
// text of many dots from being searched to its end at each of them.
func ended(s string, endings map[string]bool) bool {
	for {
		_, rest, ok := strings.Cut(s, ".")
		if !ok {
			return false
		}
		k := 0
		for k < len(rest) && (isLetter(rest[k]) || isDigit(rest[k]) || rest[k] == '_') {
			k++
		}
		if endings[strings.ToLower(rest[:k])] {
			return true
		}
		s = rest
	}
}

func hasDot(s string) bool     { return strings.IndexByte(s, '.') >= 0 }
func endsDomain(s string) bool { return ended(s, domains()) }
func endsFile(s string) bool   { return ended(s, files()) }

// partsOfNames are parts of addresses and paths that are said otherwise than
// they look; those with ! are spelled.
var partsOfNames = func() map[string]string {
	out := map[string]string{"usr": "user", "jpg": "!JPG", "jpeg": "jpeg", "yml": "yaml", "wav": "wave", "htm": "!HTM", "src": "source", "etc": "!ETC", "env": "env", "wasm": "wasm", "svelte": "svelte", "config": "config"}
	for _, w := range strings.Fields("www uk io ai tv eu fr jp de au html md js ts tsx jsx mjs py sh rb rs cpp hpp cs css txt csv tsv xml pdf png svg mp gz exe dll ini sql db xls xlsx docx ppt pptx kt php iso dmg rpm apk gguf cfg so id api url uri http https ip ui ux cli sdk ssh ssl tls dns ftp ssd cpu gpu vm os hq hr pr qa faq rss cdn aws gcp") {
		out[w] = "!" + strings.ToUpper(w)
	}
	return out
}()

// namedSigns are the signs of addresses.
var namedSigns = [256]string{'.': "dot", '@': "at", '/': "slash", '\\': "backslash", '-': "dash", '_': "underscore", ':': "colon", '?': "question mark", '=': "equals", '&': "and", '#': "hash", '%': "percent", '+': "plus", '~': "tilde", '*': "star"}

// address reads what begins the run of characters s, in front of which stands
// before. It returns how long it is; the scheme is not said.
func address(s string, before rune) (int, []string) {
	if c := s[0]; !isLetter(c) && !isDigit(c) && !strings.ContainsRune("-/~.\\*_", rune(c)) {
		return 0, nil
	}
	if !strings.ContainsAny(s[:min(len(s), 256)], ".@:-/\\") {
		return 0, nil
	}
	whole := s[:min(len(s), 2048)]
	if s = whole[:min(len(whole), 512)]; !strings.Contains(s, `:\`) {
		if k := strings.IndexFunc(s, func(r rune) bool {
			return r >= 0x80 || !isLetter(byte(r)) && !isDigit(byte(r)) && namedSigns[byte(r)] == ""
		}); k >= 0 {
			s = s[:k]
		}
	}
	if s == "" {
		return 0, nil
	}
	free := before == unicode.ReplacementChar || unicode.IsSpace(before) || strings.ContainsRune("(\"“'[`|*=", before)
	m := ""
	switch c := s[0]; {
	case c == '-':
		if free {
			m = flag().FindString(s)
		}
	case !free && strings.ContainsRune("/~.\\*", rune(c)), strings.HasPrefix(s, "...") && !strings.HasPrefix(s, "../"):
	case c == '/' || c == '~' || c == '.' || c == '\\':
		if m = path().FindString(s); len(m) < 4 {
			m = file().FindString(s)
		}
	default:
		for _, form := range []struct {
			sign string
			re   func() *regexp.Regexp
			may  func(string) bool // whether it may be one
		}{{"@", mail, nil}, {"://", web, nil}, {"www.", web, nil}, {".", domain, endsDomain}, {"localhost", local, nil}, {"/", short, hasDot}, {"/", path, nil}, {"\\", path, nil}, {"/", within, endsFile}, {".", file, endsFile}} {
			text := s
			if form.sign == "://" || form.sign == "www." {
				text = whole
			}
			if form.may != nil && !form.may(text) {
				continue
			}
			if strings.Contains(text[:min(len(text), 64)], form.sign) || form.sign != "://" && strings.Contains(s, form.sign) {
				if m = form.re().FindString(text); m != "" {
					s = text
					break
				}
			}
		}
	}
	if !strings.HasSuffix(m, "/...") {
		m = strings.TrimRight(m, ".,;:!?'")
	}
	if len(m) < 2 || joins(firstRune(s[len(m):])) {
		return 0, nil
	}
	body := m
	for _, scheme := range []string{"https://", "http://", "ftp://"} {
		body = strings.TrimPrefix(body, scheme)
	}
	if body != m || m[0] != '/' {
		body = strings.TrimSuffix(body, "/")
	}
	return len(m), partsOf(body)
}

// partsOf says the words, numbers and signs of an address.
func partsOf(body string) []string {
	var out []string
	run := func(i int, is func(c byte) bool) int {
		for i < len(body) && is(body[i]) {
			i++
		}
		return i
	}
	for i := 0; i < len(body); {
		c := body[i]
		j := i + 1
		switch {
		case isDigit(c):
			j = run(i, isDigit)
			if n := body[i:j]; i > 0 && (body[i-1] == ':' || body[i-1] == '=') {
				out = append(out, inPairs(n, US)...)
			} else if len(n) == 4 && (n[0] == '1' || n[:2] == "20") {
				out = append(out, year(n, US)...)
			} else {
				out = append(out, cardinal(n, US)...)
			}
		case isLetter(c):
			j = run(i, isLetter)
			w := body[i:j]
			if said, ok := partsOfNames[strings.ToLower(w)]; ok {
				w = said
			} else if body[0] == '-' && i == 1 && j == len(body) && len(w) > 1 { // -rf
				w = "!" + strings.ToUpper(w)
			} else if len(w) == 1 {
				w = "!" + strings.ToUpper(w)
			}
			out = append(out, w)
		default:
			out = append(out, strings.Fields(namedSigns[c])...)
		}
		i = j
	}
	return out
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
