package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"quern/engine"
)

func (a openaiAPI) embeddings(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	model := o.str("model")
	r := engine.EmbedRequest{
		Inputs:     readInputs(o),
		Dimensions: int(o.integer("dimensions", 0, 1, math.MaxInt32)),
		Truncate:   o.boolean("truncate", false),
		Raw:        !o.boolean("normalize", true),
	}
	asBase64 := o.oneOf("encoding_format", "float", "base64") == "base64"
	if o.has("input_type") {
		r.InputType = o.oneOf("input_type", "query", "document")
	}
	r.KeepAlive = readKeepAlive(o)
	o.ignore("user")
	if err := a.finish(c, o); err != nil {
		return err
	}
	logCaller(c, o)
	info, err := a.prepare(c, model, engine.KindEmbedding)
	if err != nil {
		return err
	}
	if r.InputType != "" {
		if !info.InputTypes {
			return fail(codeUnsupported, "input_type", "what model %q wants before a %s is not known; configure query_prefix and document_prefix, or put it in front of the input", info.ID, r.InputType)
		}
	}
	res, err := inTime(a.API, c, c.lease.Embed, r)
	if err != nil {
		return err
	}
	c.logTokens(res.PromptTokens, 0)
	b, e := encodeEmbeddings(info.ID, res, asBase64)
	if e != nil {
		return e
	}
	return a.writeBytes(c, 200, b)
}

func readInputs(o *object) []engine.EmbedInput {
	v, ok := o.need("input")
	if !ok {
		return nil
	}
	inputs := v.texts(maxEmbedInputs)
	for i, in := range inputs {
		if in.Tokens == nil && in.Text == "" {
			at := v
			if v.kind() == '[' {
				at = value{in: &v, index: i, p: v.p}
			}
			at.invalid("must not be empty")
		}
	}
	return inputs
}

// encodeEmbeddings writes the answer by hand: base64 of large batches is the
// usual case, as openai-node asks for it unless told otherwise.
func encodeEmbeddings(model string, res engine.EmbedResult, asBase64 bool) ([]byte, *apiError) {
	name, err := marshal(model)
	if err != nil {
		return nil, fail(codeInternal, "", "the model's name cannot be sent")
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
				return nil, fail(codeEngineFailure, "", "the model returned a vector with a value that is not a number for input %d", i)
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
