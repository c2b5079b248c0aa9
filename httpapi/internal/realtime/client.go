package realtime

import (
	"maps"
	"slices"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// events are what a client may say.
func events() map[string]func(*session, *body.Object) error {
	return map[string]func(*session, *body.Object) error{
		"session.update":               func(s *session, o *body.Object) error { return s.updateSession(o, false) },
		"transcription_session.update": func(s *session, o *body.Object) error { return s.updateSession(o, true) },
		"input_audio_buffer.append":    (*session).appendAudio,
		"input_audio_buffer.commit":    (*session).commitAudio,
		"input_audio_buffer.clear":     (*session).clearAudio,
		"conversation.item.create":     (*session).createItem,
		"conversation.item.retrieve":   (*session).retrieveItem,
		"conversation.item.delete":     (*session).deleteItem,
		"conversation.item.truncate":   (*session).truncateItem,
		"response.create":              (*session).createResponse,
		"response.cancel":              (*session).cancelResponse,
		"output_audio_buffer.clear": func(*session, *body.Object) error {
			return fault.New(engine.CodeUnsupportedParam, "type", "output_audio_buffer.clear is for WebRTC; with a WebSocket stop playing and send response.cancel")
		},
	}
}

// handle answers an event of the client.
func (s *session) handle(b []byte) {
	id := ""
	if err := s.take(b, &id); err != nil {
		if e := s.failure(s.ctx, err); e != nil {
			s.fail(e, id)
		}
	}
}

// take reads an event and does what it says; id becomes its id.
func (s *session) take(b []byte, id *string) error {
	o, err := body.ParseNamed(b, "event")
	if err != nil {
		return err
	}
	*id = o.Str("event_id")
	if len(*id) > 512 {
		*id = ""
		return fault.New(fault.CodeTooLong, "event_id", "event_id has more than 512 bytes")
	}
	kind, ok := o.Need("type")
	if !ok {
		return o.Err()
	}
	name := kind.Str()
	table := events()
	do, ok := table[name]
	if !ok {
		kind.Invalid("must be one of %s, got %.60q", strings.Join(slices.Sorted(maps.Keys(table)), ", "), name)
		return o.Err()
	}
	return do(s, o)
}

// updateSession changes what is named, or nothing. An update of the beta API's makes the
// session one of type transcription, and is answered as there.
func (s *session) updateSession(o *body.Object, beta bool) error {
	next := s.cfg
	next.listens = next.listens || beta
	if v, ok := o.Need("session"); ok && v.Kind() == '{' {
		in := o.Object("session")
		next.read(in)
		next.checkChoice(in)
	} else if ok {
		v.Wrong("an object")
	}
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	if next.listens != s.cfg.listens && (len(s.items) > 0 || s.resp != nil) {
		return fault.New(engine.CodeInvalidValue, "session.type", "session.type cannot change once there are items; connect again")
	}
	if next.model != s.cfg.model || next.ear.model != s.cfg.ear.model || next.voice != s.cfg.voice || next.voiceModel != s.cfg.voiceModel {
		if err := s.api.exists(&next); err != nil {
			return err
		}
	}
	s.cfg = next
	if beta && !s.beta {
		s.emit(event{Type: "transcription_session.updated", Session: s.cfg.spell(s.id, s.expires.Unix(), true)})
		return nil
	}
	s.emit(event{Type: "session.updated", Session: s.object()})
	return nil
}

// need reads a string that must be there.
func need(o *body.Object, name string) string {
	if v, ok := o.Need(name); ok {
		return v.Str()
	}
	return ""
}
