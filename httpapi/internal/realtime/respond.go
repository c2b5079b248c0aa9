package realtime

import (
	"encoding/json"
	"math"
	"slices"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// createResponse begins a reply the client asks for.
func (s *session) createResponse(o *body.Object) error {
	r := &response{cfg: s.cfg}
	var sounds int
	var given bool
	if in := o.Object("response"); in != nil {
		r.cfg.readReply(in)
		r.cfg.checkChoice(in)
		r.apart = in.OneOf("conversation", "auto", "none") == "none"
		if v, ok := in.Get("metadata"); ok {
			if v.Kind() != '{' || len(v.Raw) > maxMetadata {
				v.Invalid("must be an object of at most %d bytes", maxMetadata)
			}
			r.metadata = clone(v.Raw)
		}
		if v, ok := in.Get("input"); ok {
			given = true
			r.input, sounds = s.readInput(v)
		}
		in.Ignore("id", "object", "status")
	}
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	switch {
	case s.cfg.listens:
		return fault.New(engine.CodeInvalidValue, "type", "a transcription session answers nothing; use a session of type realtime")
	case sounds > 0:
		return fault.New(fault.CodeUnsupportedContent, "response.input", "response.input may only hold text; send sound with conversation.item.create and refer to it with item_reference")
	case s.resp != nil:
		return fault.New("conversation_already_has_active_response", "", "response %s is under way; wait for response.done or send response.cancel", s.resp.id)
	}
	if !given {
		r.input = nil
	} else if r.input == nil {
		r.input = []*item{}
	}
	return s.respond(r)
}

// maxMetadata bounds what a client notes on a response, in bytes.
const maxMetadata = 16 << 10

// readInput reads the items a response is to answer instead of the conversation.
func (s *session) readInput(v body.Value) (list []*item, sounds int) {
	list = []*item{}
	for item := range v.Items() {
		if len(list) == s.api.Options.Realtime.Items {
			v.Invalid("must have at most %d entries", s.api.Options.Realtime.Items)
			break
		}
		o := item.Object()
		if o == nil {
			break
		}
		if kind, ok := o.Get("type"); ok && kind.Kind() == '"' && kind.Str() == "item_reference" {
			id, ok := o.Need("id")
			if !ok {
				break
			}
			i, err := s.find(id.Str(), "")
			if err != nil {
				id.Invalid("must be the id of an item of the conversation, got %.140q", id.Str())
				break
			}
			list = append(list, s.items[i])
			continue
		}
		it, sound := readItem(item)
		if it == nil {
			break
		}
		sounds += len(sound)
		list = append(list, it)
	}
	return list, sounds
}

// cancelResponse ends the reply under way.
func (s *session) cancelResponse(o *body.Object) error {
	id := o.Str("response_id")
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	if s.resp == nil || id != "" && id != s.resp.id {
		return fault.New("response_cancel_not_active", "response_id", "no such response is under way")
	}
	s.resp.finish("cancelled", object{"type": "cancelled", "reason": "client_cancelled"})
	return nil
}

// respond begins a response.
func (s *session) respond(r *response) error {
	if !r.apart {
		if err := s.room(newItem("", itemMessage)); err != nil {
			return err
		}
	}
	if r.input == nil {
		r.input = slices.Clone(s.items)
	}
	s.responses++
	s.resp = r
	r.start(s)
	return nil
}

// spell is the response as clients see it.
func (r *response) spell(status string, details any) object {
	s := r.s
	output := make([]any, len(r.items))
	for i, it := range r.items {
		output[i] = it.spell(s.beta)
	}
	out := object{
		"id": r.id, "object": "realtime.response", "status": status, "status_details": details, "output": output,
		"metadata": orRaw(r.metadata), "usage": null, "conversation_id": s.conversation,
	}
	if r.apart {
		out["conversation_id"] = null
	}
	if s.beta {
		out["modalities"], out["voice"], out["output_audio_format"] = modalities(r.cfg.sound, true), r.cfg.voiceName(), r.cfg.out.spell(true)
	} else {
		out["output_modalities"] = modalities(r.cfg.sound, false)
		out["max_output_tokens"] = limit(r.cfg.maxTokens)
		out["audio"] = object{"output": object{"format": r.cfg.out.spell(false), "voice": r.cfg.voiceName()}}
	}
	if status == inProgress {
		return out
	}
	t := r.used
	text := object{"text_tokens": t.PromptTokens, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": t.CachedTokens,
		"cached_tokens_details": object{"text_tokens": t.CachedTokens, "audio_tokens": 0, "image_tokens": 0}}
	out["usage"] = object{
		"total_tokens": t.PromptTokens + t.OutputTokens, "input_tokens": t.PromptTokens, "output_tokens": t.OutputTokens,
		"input_token_details": text, "output_token_details": object{"text_tokens": t.OutputTokens, "audio_tokens": 0},
	}
	out["timings"] = r.times.spell()
	return out
}

func orRaw(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return null
	}
	return raw
}

// whole is a number of milliseconds with three digits after the point.
func whole(ms float64) float64 { return math.Round(ms*1000) / 1000 }
