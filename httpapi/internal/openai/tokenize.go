package openai

import (
	"bufio"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// textKinds are the models that have a tokenizer for text.
var textKinds = []engine.Kind{engine.KindChat, engine.KindCompletion, engine.KindEmbedding, engine.KindRerank}

func (a api) tokenize(c *server.Call, o *body.Object) error {
	model := o.Str("model")
	r := engine.TokenizeRequest{AddSpecial: o.Boolean("add_special_tokens", true)}
	r.AddSpecial = o.Boolean("add_special", r.AddSpecial) // llama-server's name
	strs, pieces := o.Boolean("return_token_strs", false), o.Boolean("with_pieces", false)
	if !o.Boolean("parse_special", true) {
		o.Refuse(engine.CodeUnsupportedParam, "parse_special", "parse_special: false is not supported; leave it out")
	}
	switch {
	case o.Has("messages"):
		r.Prompt.Messages = readMessages(o)
		readThinking(o, a.Options.ReasoningBudgets, &r.Prompt)
		r.Prompt.Continue = readContinue(o, r.Prompt.Messages)
		r.Prompt.Tools, _ = readTools(o)
		refuseTemplates(o, r.Prompt.Continue)
	case o.Has("prompt"):
		r.Prompt.Text = o.Str("prompt")
	case o.Has("content"):
		r.Prompt.Text = o.Str("content")
	default:
		o.Need("prompt")
	}
	if err := a.Finish(c, o); err != nil {
		return err
	}
	kinds := textKinds
	if r.Prompt.Messages != nil {
		kinds = []engine.Kind{engine.KindChat}
	}
	if _, err := a.Prepare(c, model, kinds...); err != nil {
		return err
	}
	res, err := server.InTime(a.API, c, c.Lease.Tokenize, r)
	if err != nil {
		return err
	}
	return a.WriteMade(c.R.Context(), c, func(w *bufio.Writer) {
		w.WriteString(`{"tokens":`)
		writeList(w, res.Tokens, func(b []byte, id token.ID) []byte {
			if pieces {
				return appendPiece(b, id, res.Bytes(id))
			}
			return strconv.AppendInt(b, int64(id), 10)
		})
		fmt.Fprintf(w, `,"count":%d,"max_model_len":%d`, len(res.Tokens), res.Context)
		if strs {
			w.WriteString(`,"token_strs":`)
			writeList(w, res.Tokens, func(b []byte, id token.ID) []byte { return appendToken(b, res.Bytes(id)) })
		}
		w.WriteString("}\n")
	})
}

// appendPiece appends a token and its text as llama-server does: a string, or bytes where
// they are no characters.
func appendPiece(b []byte, id token.ID, piece []byte) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), int64(id), 10)
	b = append(b, `,"piece":`...)
	if utf8.Valid(piece) {
		return append(server.AppendString(b, piece), '}')
	}
	b = append(b, '[')
	for i, x := range piece {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(x), 10)
	}
	return append(b, "]}"...)
}

// appendToken appends the bytes of a token as a JSON string.
func appendToken(b, piece []byte) []byte {
	if utf8.Valid(piece) {
		return server.AppendString(b, piece)
	}
	return server.AppendString(b, ask.TokenText(piece))
}

// writeList writes a JSON array.
func writeList[T any](w *bufio.Writer, list []T, spell func([]byte, T) []byte) {
	w.WriteByte('[')
	var b []byte
	for i, v := range list {
		b = b[:0]
		if i > 0 {
			b = append(b, ',')
		}
		b = spell(b, v)
		w.Write(b)
	}
	w.WriteByte(']')
}

func (a api) detokenize(c *server.Call, o *body.Object) error {
	model := o.Str("model")
	var ids []token.ID
	if v, ok := o.Need("tokens"); ok {
		ids = v.IDs() // of an empty text there are none
	}
	if err := a.Finish(c, o); err != nil {
		return err
	}
	if _, err := a.Prepare(c, model, textKinds...); err != nil {
		return err
	}
	ctx, cancel := a.WithRequestTimeout(c.R.Context(), c)
	defer cancel()
	text, err := c.Lease.Detokenize(ctx, ids)
	if err != nil {
		return fault.Classify(ctx, err)
	}
	return a.WriteMade(ctx, c, func(w *bufio.Writer) {
		w.WriteString(`{"prompt":"`) // vLLM's name
		writeText(w, text)
		w.WriteString(`","content":"`) // llama-server's
		writeText(w, text)
		w.WriteString("\"}\n")
	})
}

// writeText writes the inside of a JSON string. Its pieces are whole
// characters.
func writeText(w *bufio.Writer, pieces iter.Seq[[]byte]) {
	var b []byte
	for p := range pieces {
		b = server.AppendString(b[:0], p)
		w.Write(b[1 : len(b)-1])
	}
}
