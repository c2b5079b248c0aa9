package wire

import (
	"bytes"
	"slices"
	"strings"
)

// start puts the reader where the prompt ends.
func (r *Reader) start(prompt string) {
	f := r.Format
	if f.Channel != nil {
		r.region = inHeader
		if i := strings.LastIndex(prompt, f.Channel.Start); i >= 0 {
			r.in = append(r.in, r.vocab.encode(prompt[i+len(f.Channel.Start):])...)
			for len(r.in) > 0 && r.step() {
			}
			// Text of the prompt is no part of the reply.
			r.events, r.text, r.blank = r.events[:0], r.text[:0], r.blank[:0]
		}
		return
	}
	open, rest := f.open(prompt)
	switch {
	case open:
		r.region, r.thought = inThinking, true
		r.fresh = strings.TrimSpace(rest) == ""
	case rest != prompt:
		r.thought = true
		r.fresh = strings.TrimSpace(rest) == ""
		r.said = !r.fresh
	}
	if f.Primed != "" && strings.HasSuffix(prompt, f.Primed) {
		r.in = append(r.in, r.vocab.encode(f.Primed)...)
	}
}

// open reports whether a prompt leaves thinking open, and returns the text after the last
// marker of thinking; all of the prompt where there is none.
func (f *Format) open(prompt string) (bool, string) {
	at, open, rest := -1, false, prompt
	look := func(text string, opens bool) {
		if text == "" {
			return
		}
		if i := strings.LastIndex(prompt, text); i >= 0 && i+len(text) > at {
			at, open, rest = i+len(text), opens, prompt[i+len(text):]
		}
	}
	for _, text := range f.Think.Open {
		look(text, true)
	}
	look(f.Think.Prompt, true)
	look(f.Think.Close, false)
	for _, text := range f.Content {
		look(text, false)
	}
	return open, rest
}

// Thinking reports whether a prompt ends inside thinking, or else behind it, so that none
// can follow.
func (f *Format) Thinking(prompt string) (open, over bool) {
	r := NewSyntax(f, nil).NewReader(Options{Prompt: prompt})
	open = r.region == inThinking
	return open, !open && r.thought
}

// EndThinking is what a reply writes to end thinking; "" where the format does not distinguish
// thinking from content. In a format of messages that is the end of one, and the beginning of the
// next: up to its header if header says so, else with the header of an answer. ends reports whether
// a text ends the reply.
func (f *Format) EndThinking(header bool, ends func(text string) bool) string {
	c := f.Channel
	if c == nil {
		return f.Think.Close
	}
	i := slices.IndexFunc(c.Ends, func(text string) bool { return !ends(text) })
	switch {
	case i < 0:
		return ""
	case header:
		return c.Ends[i] + c.Start
	}
	return c.Ends[i] + c.Start + c.Answer + c.Message
}

// OpensThinking reports whether a prompt ends inside thinking.
func (f *Format) OpensThinking(prompt string) bool {
	open, _ := f.Thinking(prompt)
	return open
}

// headerStep reads the header of a message. What cannot be a header is the
// answer of a model that writes none.
func (r *Reader) headerStep() bool {
	if len(r.in) == 0 {
		return false
	}
	at, is := findText(r.in, r.message, r.last)
	text := bytes.TrimLeft(r.in, " ")
	switch {
	case len(text) > 0 && !r.maybeHeader(text), at > maxHeader:
		r.turn(inContent)
		r.fresh = false
	case is == matchYes:
		header := string(r.plain(r.in[:at]))
		r.eat(at + len(r.message))
		r.route(header)
	default:
		return false
	}
	return true
}

// maybeHeader reports whether text may begin a header.
func (r *Reader) maybeHeader(text []byte) bool {
	c := r.Format.Channel
	for _, begin := range []string{"to=", r.vocab.encode(c.Name), r.message, r.vocab.encode(c.Constrain)} {
		n := min(len(begin), len(text))
		if n > 0 && begin[:n] == string(text[:n]) {
			return true
		}
	}
	return false
}

// route enters the region that a header names.
func (r *Reader) route(header string) {
	c := r.Format.Channel
	word := func(after string) string {
		i := strings.LastIndex(header, after)
		if after == "" || i < 0 {
			return ""
		}
		rest := header[i+len(after):]
		if end := strings.IndexAny(rest, " \n\t<"); end >= 0 {
			rest = rest[:end]
		}
		return rest
	}
	to, region := word("to="), RegionCalls
	named, isNamed := c.To[to]
	switch {
	case to == "" && len(c.Names) > 0, isNamed && named == RegionNone:
		to = ""
		var ok bool
		if region, ok = c.Names[word(c.Name)]; !ok {
			region = RegionContent
		}
	case isNamed:
		to, region = "", named
	}
	r.hidden = false
	switch region {
	case RegionContent:
		r.turn(inContent)
	case RegionThinking:
		r.turn(inThinking)
	default:
		r.turn(inAfter)
		if c.Args {
			r.argsMessage(to)
		}
	}
}

// argsMessage begins a message to a tool that is the call's arguments.
func (r *Reader) argsMessage(to string) {
	c := r.Format.Channel
	name, ours := strings.CutPrefix(to, c.Prefix)
	name = r.resolve(name)
	if !isName([]byte(name)) || !ours && (r.tools == nil || r.tools[name] == nil) || r.opt.NoCalls {
		r.turn(inContent)
		r.hidden = true // it is for a tool that there is not
		return
	}
	r.newCall()
	r.call.index, r.call.pc = 0, 0
	r.call.pieces = []piece{{Element: Element{Kind: Args}}}
	r.call.name = name
	r.commit()
	r.region = inCall
}

// endMessage enters the region after a message.
func (r *Reader) endMessage() {
	r.turn(inAfter)
	r.hidden = false
}
