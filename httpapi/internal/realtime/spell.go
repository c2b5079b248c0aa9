package realtime

func (f *format) spell(beta bool) any {
	switch {
	case beta:
		return f.beta
	case f.name == "audio/pcm":
		return object{"type": f.name, "rate": f.rate}
	}
	return object{"type": f.name}
}

func (h *hearing) spell() any {
	if !h.asked {
		return null
	}
	out := object{"model": orNull(h.model), "language": orNull(h.language), "prompt": h.prompt}
	if h.keywords != nil {
		out["keywords"] = h.keywords
	}
	return out
}

// limit is a number of tokens as sessions spell it.
func limit(n int) any {
	if n == 0 {
		return "inf"
	}
	return n
}

func modalities(sound, beta bool) []string {
	switch {
	case sound && beta:
		return []string{"audio", "text"}
	case sound:
		return []string{"audio"}
	}
	return []string{"text"}
}

func (c *config) choiceObject() any {
	if c.chosen == nil {
		return "auto"
	}
	return c.chosen
}

// spell is the session object.
func (c *config) spell(id string, expires int64, beta bool) any {
	var turns any = null
	if c.turns != nil {
		turns = c.turns
	}
	out := object{"id": id, "object": "realtime.session", "expires_at": expires}
	if c.listens {
		out["object"] = "realtime.transcription_session"
	}
	include := any(null)
	if c.ear.logprobs {
		include = []string{"item.input_audio_transcription.logprobs"}
	}
	if !beta {
		in := object{"format": c.in.spell(false), "transcription": c.ear.spell(), "noise_reduction": null, "turn_detection": turns}
		out["type"], out["include"] = "transcription", include
		if c.listens {
			out["audio"] = object{"input": in}
			return out
		}
		out["type"] = "realtime"
		out["audio"] = object{"input": in, "output": object{"format": c.out.spell(false), "voice": c.voiceName(), "speed": c.speed}}
		out["output_modalities"] = modalities(c.sound, false)
		out["max_output_tokens"] = limit(c.maxTokens)
		out["parallel_tool_calls"] = !c.choice.One
		out["truncation"] = map[bool]string{false: "auto", true: "disabled"}[c.whole]
		out["tracing"], out["prompt"] = null, null
	} else {
		out["input_audio_format"], out["input_audio_transcription"] = c.in.spell(true), c.ear.spell()
		out["turn_detection"], out["input_audio_noise_reduction"] = turns, null
		if c.listens {
			return out
		}
		out["output_audio_format"], out["voice"], out["speed"] = c.out.spell(true), c.voiceName(), c.speed
		out["modalities"] = modalities(c.sound, true)
		out["max_response_output_tokens"] = limit(c.maxTokens)
	}
	out["model"], out["instructions"] = c.model, c.instructions
	out["tools"], out["tool_choice"] = c.toolsSent, c.choiceObject()
	if c.temperature != nil {
		out["temperature"] = *c.temperature
	}
	return out
}

// usualVoice is the voice of who names none, where the model has it.
const usualVoice = "alloy"

func (c *config) voiceName() string {
	if c.voice == "" {
		return usualVoice
	}
	return c.voice
}
