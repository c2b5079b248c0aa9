package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
)

// openers show an address in the user's browser, by operating system; "" is all others.
// The address comes last and is one word.
var openers = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"},
	"":        {"xdg-open"},
}

// browse opens url in a browser. Where that fails it prints what to do: the server runs on.
// The function returned ends the opener, which may stay as long as the browser does.
func (a *app) browse(ctx context.Context, url string) (end func()) {
	opener := openers[runtime.GOOS]
	if opener == nil {
		opener = openers[""]
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := exec.CommandContext(ctx, opener[0], slices.Concat(opener[1:], []string{url})...).Run()
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(a.err, "quern: %s opened no browser (%v); open %s in one\n", opener[0], err, url)
		}
	}()
	return func() { cancel(); <-ended }
}
