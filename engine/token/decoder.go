package token

import "unicode/utf8"

// DecodeOptions say how ids become text.
type DecodeOptions struct {
	// Special renders control and unknown tokens as their spelling instead
	// of leaving them out.
	Special bool
	// Continued says that the ids continue a text: the space that SentencePiece
	// puts before a text is then part of it and stays.
	Continued bool
}

// A Decoder turns one stream of ids into text. Its results are always
// valid UTF-8: the bytes of a character that more tokens may complete are held
// back, and bytes that can no longer become a character are U+FFFD each. It
// must not be used by two goroutines at once.
type Decoder struct {
	v    *Vocab
	opt  DecodeOptions
	drop bool // the next token's leading space
	held [utf8.UTFMax]byte
	n    int
}

// NewDecoder returns a Decoder at the start of a stream.
func (v *Vocab) NewDecoder(opt DecodeOptions) *Decoder {
	return &Decoder{v: v, opt: opt, drop: v.prefix && !opt.Continued}
}

// Append appends the text that ids complete to dst. Ids that are not in the
// vocabulary have none.
func (d *Decoder) Append(dst []byte, ids ...ID) []byte {
	for _, id := range ids {
		if k := d.v.Kind(id); (k == Control || k == Unknown) && !d.opt.Special {
			continue
		}
		b := d.v.Bytes(id)
		if len(b) == 0 {
			continue
		}
		if d.drop && b[0] == ' ' && d.v.kinds[id] != Byte {
			b = b[1:]
		}
		d.drop = false
		dst = d.text(dst, b)
	}
	return dst
}

// text appends the complete characters of the held bytes and b, and holds the rest.
func (d *Decoder) text(dst, b []byte) []byte {
	for d.n > 0 && len(b) > 0 {
		d.held[d.n] = b[0]
		d.n, b = d.n+1, b[1:]
		dst = d.release(dst, false)
	}
	for len(b) > 0 {
		if !utf8.FullRune(b) {
			d.n = copy(d.held[:], b)
			return dst
		}
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

// release appends the characters at the start of the held bytes: all of them
// if flush is set, otherwise those that more bytes cannot change.
func (d *Decoder) release(dst []byte, flush bool) []byte {
	for d.n > 0 && (flush || utf8.FullRune(d.held[:d.n])) {
		r, n := utf8.DecodeRune(d.held[:d.n])
		dst = utf8.AppendRune(dst, r)
		d.n = copy(d.held[:], d.held[n:d.n])
	}
	return dst
}

// Flush ends the stream: it appends U+FFFD for every byte still held, and
// makes d ready for another stream.
func (d *Decoder) Flush(dst []byte) []byte {
	dst = d.release(dst, true)
	d.drop = d.v.prefix && !d.opt.Continued
	return dst
}

// Decode returns the text of ids: what a Decoder returns for them in turn.
func (v *Vocab) Decode(ids []ID, opt DecodeOptions) string {
	d := v.NewDecoder(opt)
	return string(d.Flush(d.Append(nil, ids...)))
}
