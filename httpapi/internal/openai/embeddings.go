package openai

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

func (a api) embeddings(c *server.Call, o *body.Object) error {
	model := o.Str("model")
	r := engine.EmbedRequest{
		Inputs:     readInputs(o),
		Dimensions: int(o.Integer("dimensions", 0, 1, math.MaxInt32)),
		Truncate:   o.Boolean("truncate", false),
		Raw:        !o.Boolean("normalize", true) || !o.Boolean("normalized", true), // the latter is Jina's
	}
	r.Raw = ask.RawVectors(o) || r.Raw
	r.Truncate = r.Truncate || o.Has("truncate_prompt_tokens") // which is vLLM's, and refused unless it means that
	ask.RefuseOthers(o, otherEmbeddings)
	asBase64 := o.OneOf("encoding_format", "float", "base64") == "base64"
	if o.Has("input_type") {
		r.InputType = o.OneOf("input_type", "query", "document")
	}
	r.KeepAlive = body.KeepAlive(o)
	o.Ignore("user", "priority", "request_id")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	info, err := a.Prepare(c, model, engine.KindEmbedding)
	if err != nil {
		return err
	}
	if r.InputType != "" {
		if !info.InputTypes {
			return fault.New(engine.CodeUnsupportedParam, "input_type", "what model %q wants before a %s is not known; configure query_prefix and document_prefix, or put it in front of the input", info.ID, r.InputType)
		}
	}
	res, err := server.InTime(a.API, c, c.Lease.Embed, r)
	if err != nil {
		return err
	}
	c.LogTokens(res.PromptTokens, 0)
	b, e := encodeEmbeddings(info.ID, res, asBase64)
	if e != nil {
		return e
	}
	return a.Write(c, 200, "application/json", b)
}

// otherEmbeddings are fields of vLLM, Jina and other servers that would change vectors, or their
// encoding, and that have no counterpart here.
var otherEmbeddings = []ask.Other{
	{Name: "truncate_prompt_tokens", Off: -1.0, Instead: "truncate: true cuts inputs to what the model reads, as -1 does"},
	{Name: "add_special_tokens", Off: true}, {Name: "messages", Off: ask.Empty, Instead: "send input"}, {Name: "chat_template", Off: ask.Empty},
	{Name: "embed_dtype", Off: []string{"float32"}}, {Name: "endianness", Off: []string{"native", "little"}}, {Name: "use_activation", Off: true},
	{Name: "pooling", Off: ask.Empty, Instead: "the model's file says how vectors are pooled"},
	{Name: "task", Off: ask.Empty, Instead: "send input_type: query or document"}, {Name: "prompt_name", Off: ask.Empty, Instead: "send input_type: query or document"},
	{Name: "instruction", Off: ask.Empty, Instead: "put it in front of the input"},
	{Name: "late_chunking", Off: false}, {Name: "return_multivector", Off: false},
	{Name: "embedding_type", Off: []string{"float"}, Instead: "send encoding_format: float or base64"},
	{Name: "embedding_types", Instead: "send encoding_format: float or base64"},
	{Name: "output_dtype", Off: []string{"float"}, Instead: "send encoding_format: float or base64"}, {Name: "output_dimension", Instead: "send dimensions"},
}

func readInputs(o *body.Object) []engine.EmbedInput {
	v, ok := o.Need("input")
	if !ok {
		return nil
	}
	inputs := v.Texts(server.MaxEmbedInputs)
	for i, in := range inputs {
		if in.Tokens == nil && in.Text == "" {
			at := v
			if v.Kind() == '[' {
				at = v.At(i)
			}
			at.Invalid("must not be empty")
		}
	}
	return inputs
}

// encodeEmbeddings writes the answer by hand: base64 of large batches is the
// usual case, as openai-node asks for it by default.
func encodeEmbeddings(model string, res engine.EmbedResult, asBase64 bool) ([]byte, *fault.Error) {
	name, err := server.Marshal(model)
	if err != nil {
		return nil, fault.New(fault.CodeInternal, "", "the model's name cannot be sent")
	}
	size := 256
	for _, v := range res.Vectors {
		size += 64 + 12*len(v)
	}
	b := make([]byte, 0, size)
	b = append(b, `{"object":"list","model":`...)
	b = append(b, name...)
	b = append(b, `,"data":[`...)
	var raw []byte
	for i, vec := range res.Vectors {
		for _, x := range vec {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nil, fault.New(engine.CodeEngineFailure, "", "the model returned a vector with a value that is not a number for input %d", i)
			}
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"object":"embedding","index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `,"embedding":`...)
		if asBase64 {
			raw = raw[:0]
			for _, x := range vec {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			}
			b = append(b, '"')
			b = base64.StdEncoding.AppendEncode(b, raw)
			b = append(b, '"')
		} else {
			b = append(b, '[')
			for k, x := range vec {
				if k > 0 {
					b = append(b, ',')
				}
				b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
			}
			b = append(b, ']')
		}
		b = append(b, '}')
	}
	b = append(b, `],"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(res.PromptTokens), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(res.PromptTokens), 10)
	return append(b, "}}\n"...), nil
}
