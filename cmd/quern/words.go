package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"quern/cmd/quern/internal/settings"
	"quern/engine/spell"
)

// nameLike matches words that read like a model's name and not like language: a
// path, a version, a quantisation, letters beside digits.
var nameLike = regexp.MustCompile(`[/\\_]|[\pL\pN][-.:][\pL\pN]|\pL\pN|\pN\pL`)

// oneWord matches what might be a name or a word of language. Quern prints which it
// took it for.
var oneWord = regexp.MustCompile(`^\p{Ll}+$`)

// mayBeName reports whether the first word of a command line was probably meant as
// a model's name, when no model is called so. ids are the models there are.
func mayBeName(word string, ids []string) bool {
	if word == "" || strings.ContainsAny(word, " \t\r\n") {
		return false
	}
	return slices.Contains(settings.ModelEndings, filepath.Ext(word)) || nameLike.MatchString(word) || spell.Closest(word, ids) != ""
}

// hasInput reports whether something was sent to standard input on purpose: a
// file or a pipe. A terminal, /dev/null and the sockets that parent programs leave
// open are nothing.
func (a *app) hasInput() bool {
	f, ok := a.in.(*os.File)
	if !ok {
		return a.in != nil
	}
	st, err := f.Stat()
	return err == nil && (st.Mode().IsRegular() || st.Mode()&fs.ModeNamedPipe != 0)
}
