package ask

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// An Other is a field that has an effect in another server or dialect, and none
// here: it is refused or warned of, unless it asks for nothing.
type Other struct {
	Name    string
	Off     any    // the value that asks for nothing: a float64, a bool, words ([]string), or Empty; nil is no value
	Instead string // what to send, "" is nothing; in a warning, why it has no effect
}

// Empty is [], {}, "", false or 0.
const Empty = ""

// otherSampling are fields of llama-server and vLLM that change sampling or the prompt.
var otherSampling = []Other{
	{Name: "mirostat", Off: 0.0}, {Name: "tfs_z", Off: 1.0}, {Name: "dry_multiplier", Off: 0.0}, {Name: "xtc_probability", Off: 0.0},
	{Name: "dynatemp_range", Off: 0.0}, {Name: "top_n_sigma", Off: -1.0}, {Name: "lora", Off: Empty},
	{Name: "grammar_lazy", Off: Empty}, {Name: "grammar_triggers", Off: Empty},
	{Name: "use_beam_search", Off: false}, {Name: "length_penalty", Off: 1.0}, {Name: "bad_words", Off: Empty},
	{Name: "allowed_token_ids", Off: Empty, Instead: "say so with grammar or structured_outputs"}, {Name: "logits_processors", Off: Empty},
	{Name: "include_stop_str_in_output", Off: false}, {Name: "skip_special_tokens", Off: true},
	{Name: "prompt_logprobs"}, {Name: "truncate_prompt_tokens", Instead: "chats are shortened with truncation: auto"},
	{Name: "return_token_ids", Off: false}, {Name: "return_tokens_as_token_ids", Off: false}, {Name: "logprob_token_ids", Off: Empty},
	{Name: "repetition_detection", Off: Empty}, {Name: "kv_transfer_params", Off: Empty}, {Name: "vllm_xargs", Off: Empty},
	{Name: "prompt_embeds", Off: Empty, Instead: "send the text, or its tokens"}, {Name: "adaptive_target", Off: -1.0},
}

// idleSampling are fields of the same servers that change no reply here.
var idleSampling = []Other{
	{Name: "min_keep", Off: 0.0, Instead: "a filter keeps the likeliest token and what else it lets through"},
	{Name: "spaces_between_special_tokens", Off: true, Instead: "special tokens are not written"},
	{Name: "priority", Off: 0.0, Instead: "requests are answered in the order they come"},
	{Name: "mm_processor_kwargs", Off: Empty, Instead: "only text is read"}, {Name: "media_io_kwargs", Off: Empty, Instead: "only text is read"},
}

// forms are the fields that demand a form of the reply in OpenAI's chats and completions.
var forms = []string{"response_format", "json_schema", "guided_json", "grammar", "guided_grammar", "regex", "guided_regex", "guided_choice", "structured_outputs"}

// Forms are these fields in a dialect without them.
func Forms(instead string) []Other { return alike(forms, Other{Instead: instead}) }

// Limits are the fields that bound the tokens of thinking, in a dialect without them.
func Limits(instead string) []Other { return alike(limits, Other{Off: -1.0, Instead: instead}) }

// alike are fields that are the same but for their names.
func alike(names []string, same Other) []Other {
	list := make([]Other, len(names))
	for i, name := range names {
		list[i] = same
		list[i].Name = name
	}
	return list
}

// RefuseSampling refuses the fields of sampling that no dialect has here, and warns of those
// without effect.
func RefuseSampling(c *server.Call, o *body.Object) {
	RefuseOthers(o, otherSampling)
	WarnOthers(c, o, idleSampling)
}

// asked are those of others that are sent and ask for something, with what is sent.
func asked(o *body.Object, others []Other) iter.Seq2[Other, body.Value] {
	return func(yield func(Other, body.Value) bool) {
		for _, x := range others {
			if _, sent := o.Sent(x.Name); !sent {
				continue // and no field to say that another is nearly it
			}
			if v, ok := o.Get(x.Name); ok && !x.off(v) && !yield(x, v) {
				return
			}
		}
	}
}

// RefuseOthers refuses those of others that are sent and ask for something.
func RefuseOthers(o *body.Object, others []Other) {
	for x, v := range asked(o, others) {
		hint := "leave it out"
		if x.Instead != "" {
			hint = x.Instead
		} else if _, words := x.Off.([]string); !words && x.Off != nil && x.Off != Empty {
			hint += fmt.Sprintf(", or set it to %v", x.Off)
		}
		v.Refuse(engine.CodeUnsupportedParam, v.Path(), "%s is not supported; %s", v.Path(), hint)
	}
}

// WarnOthers warns the client of those that are sent, ask for something and have no effect.
func WarnOthers(c *server.Call, o *body.Object, others []Other) {
	for x, v := range asked(o, others) {
		c.Warn(v.Path() + " has no effect: " + x.Instead)
	}
}

// off reports whether a value asks for nothing.
func (x Other) off(v body.Value) bool {
	switch off := x.Off.(type) {
	case float64:
		return v.Number(-math.MaxFloat64, math.MaxFloat64) == off
	case bool:
		return v.Boolean() == off
	case []string:
		return slices.Contains(off, v.Str())
	case string:
		const longest = 16 // with blanks in it
		if len(v.Raw) > longest {
			return false
		}
		switch strings.Join(strings.Fields(string(v.Raw)), "") {
		case "[]", "{}", `""`, "false", "0":
			return true
		}
	}
	return false
}
