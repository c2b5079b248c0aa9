package eleven

import (
	"cmp"
	"encoding/base64"
	"math"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/socket"
)

// A liveMessage is a message of the client.
type liveMessage struct {
	text     string
	hasText  bool
	flush    bool
	trigger  bool
	schedule []int    // nil: as before
	speed    *float64 // nil: as before
	key      string

	context             string // "" is the default one
	closeContext, close bool
}

// Bounds of a message.
const (
	mostSchedule     = 100
	mostScheduled    = 500 // characters, as the vendor's
	mostContextBytes = 256
)

// readLiveMessage reads a message; multi is for those that name contexts.
func (a api) readLiveMessage(c *server.Call, b []byte, multi bool) (*liveMessage, error) {
	o, err := body.ParseNamed(b, "message")
	if err != nil {
		return nil, err
	}
	m := &liveMessage{}
	if v, ok := o.Get("text"); ok {
		m.text, m.hasText = v.Str(), true
	} else if !multi && !o.Has("flush") {
		o.Need("text")
	}
	m.flush = o.Boolean("flush", false)
	m.key = cmp.Or(o.Str("xi_api_key"), o.Str("xi-api-key"), bearer(o.Str("authorization")))
	m.speed = readSettings(o)
	for _, name := range []string{"generation_config", "generator_config"} {
		if s := o.Object(name); s != nil {
			if v, ok := s.Get("chunk_length_schedule"); ok {
				var list []int
				for item := range v.Items() {
					if list = append(list, int(item.Number(1, mostScheduled))); len(list) > mostSchedule {
						v.Invalid("must have at most %d entries", mostSchedule)
						break
					}
				}
				if list != nil {
					m.schedule = list
				}
			}
		}
	}
	readDictionaries(o, "send SSML with enable_ssml_parsing")
	if multi {
		m.context = cmp.Or(o.Str("context_id"), o.Str("contextId"))
		m.closeContext, m.close = o.Boolean("close_context", false), o.Boolean("close_socket", false)
		if len(m.context) > mostContextBytes {
			return nil, fault.New(fault.CodeTooLong, "context_id", "context_id has more than %d bytes", mostContextBytes)
		}
	} else {
		m.trigger = o.Boolean("try_trigger_generation", false)
	}
	return m, a.Finish(c, o)
}

func bearer(s string) string {
	const scheme = "Bearer "
	if len(s) > len(scheme) && s[:len(scheme)] == scheme {
		return s[len(scheme):]
	}
	return s
}

// A liveAnswer is a message to the client.
type liveAnswer struct {
	Audio      *string      `json:"audio"`
	Final      bool         `json:"isFinal"`
	Normalized *liveAligned `json:"normalizedAlignment"`
	Alignment  *liveAligned `json:"alignment"`
}

// A multiAnswer says of which context it is; null is the default one.
type multiAnswer struct {
	liveAnswer
	Ended   bool    `json:"is_final"`
	Context *string `json:"contextId"`
}

// A liveAligned has the time of each character, in milliseconds from where the sound
// of its message begins. The vendor's documents and its libraries spell the durations
// differently.
type liveAligned struct {
	Starts    []int    `json:"charStartTimesMs"`
	Durations []int    `json:"charsDurationsMs"`
	Lasting   []int    `json:"charDurationsMs"`
	Chars     []string `json:"chars"`
}

// since turns an alignment of the whole into one from a time on.
func (al *alignment) since(from float64) *liveAligned {
	out := &liveAligned{Chars: al.Characters, Starts: []int{}, Durations: []int{}}
	if out.Chars == nil {
		out.Chars = []string{}
	}
	for i := range al.Starts {
		start, end := int(math.Round(1000*(al.Starts[i]-from))), int(math.Round(1000*(al.Ends[i]-from)))
		out.Starts, out.Durations = append(out.Starts, max(start, 0)), append(out.Durations, max(end, 0)-max(start, 0))
	}
	out.Lasting = out.Durations
	return out
}

// answer is the sound of a chunk, nil while the encoder holds it back.
func (l *live) answer(context string, sound []byte, final bool, written, said *liveAligned) any {
	a := liveAnswer{Final: final, Alignment: written, Normalized: said}
	if !final {
		a.Audio = new(base64.StdEncoding.EncodeToString(sound))
	}
	if !l.multi {
		return a
	}
	m := multiAnswer{liveAnswer: a, Ended: final}
	if context != "" {
		m.Context = &context
	}
	return m
}

// A liveFailure is a failure in the vendor's form for a WebSocket.
type liveFailure struct {
	Message string `json:"message"`
	Error   string `json:"error"`
	Code    int    `json:"code"`
}

// failureOf spells a failure.
func failureOf(e *fault.Error) liveFailure {
	f := liveFailure{e.Message, string(e.Code), socket.Policy}
	switch {
	case e.Code == engine.CodeShuttingDown:
		f.Code = socket.GoingAway
	case e.Status == 503 || e.Status == 429:
		f.Code = socket.Later
	case e.Status >= 500 && e.Code != fault.CodeNotImplemented && e.Code != errIdle && e.Code != errTotal:
		f.Code = socket.Internal
	case e.Code == fault.CodeInvalidJSON, e.Code == fault.CodeInvalidType, e.Code == engine.CodeMissingParam:
		f.Error = "invalid_input_message"
	}
	return f
}
