package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"quern/engine"
)

// explain is the message of err with its cause, which clients of the API do not get because it may
// name files; parts that repeat are dropped.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "stopped"
	}
	text := err.Error()
	if e := (*engine.Error)(nil); errors.As(err, &e) && e.Err != nil && !strings.Contains(text, e.Err.Error()) {
		const elsewhere = "the server's log says why"
		if replaced := strings.Replace(text, elsewhere, e.Err.Error(), 1); replaced != text {
			text = replaced
		} else {
			text += fmt.Sprintf(" (%v)", e.Err)
		}
	}
	return once(plainPaths(text, err))
}

// plainPaths leaves the names of system calls out: "open x: no such file or directory"
// is no clearer than "x: no such file or directory".
func plainPaths(text string, err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		if path.Path == os.Stdout.Name() {
			return strings.Replace(text, path.Op+" "+path.Path, "standard output", 1)
		}
		return strings.Replace(text, path.Error(), path.Path+": "+path.Err.Error(), 1)
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return strings.Replace(text, link.Error(), link.New+": "+link.Err.Error(), 1)
	}
	return text
}

// once drops the parts of a message that repeat the one before, as where each layer
// names the file.
func once(text string) string {
	parts := strings.Split(text, ": ")
	out := parts[:1]
	for _, p := range parts[1:] {
		if p != out[len(out)-1] {
			out = append(out, p)
		}
	}
	return strings.Join(out, ": ")
}
