// Package realtime answers in the dialect of OpenAI's Realtime API over WebSocket: a
// conversation in text and sound. A turn of the speaker becomes text, that becomes a
// prompt, and the reply is spoken sentence by sentence as it grows, by the calls that
// answer transcriptions, chats and speech.
//
// One goroutine owns a session. Work that takes time is done beside it and comes back
// through session.main.
package realtime

import (
	"net/http"
	"strings"
	"sync/atomic"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/guard"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/socket"
)

type api struct {
	*server.API
	secrets secrets
	open    atomic.Int64 // sessions
}

// Routes returns the endpoints of the dialect.
func Routes(s *server.API) []server.Route {
	a := &api{API: s}
	const webRTC = "WebRTC and SIP are not supported; connect to GET /v1/realtime by WebSocket"
	list := []server.Route{
		{Method: "GET", Path: "/v1/realtime", Handle: a.connect, Admit: a.secrets.admit, Work: true, Bare: true},
		{Method: "POST", Path: "/v1/realtime/client_secrets", Handle: s.Object(a.newSecret), Bare: true},
		{Method: "POST", Path: "/v1/realtime/transcription_sessions", Handle: s.Object(a.newTranscriptionSession), Bare: true},
	}
	for _, no := range []struct{ method, path, why string }{
		{"POST", "/v1/realtime", webRTC},
		{"POST", "/v1/realtime/calls", webRTC},
		{"POST", "/v1/realtime/calls/:id/:action", webRTC},
		{"POST", "/v1/realtime/sessions", "sessions of the beta API are not made ahead; use POST /v1/realtime/client_secrets"},
		{"GET", "/v1/realtime/translations", "translation sessions are not supported; transcribe with POST /v1/audio/translations"},
		{"POST", "/v1/realtime/translations/client_secrets", "translation sessions are not supported; transcribe with POST /v1/audio/translations"},
	} {
		list = append(list, server.Route{Method: no.method, Path: no.path, Handle: server.NotBuilt(no.why), Bare: true})
	}
	return list
}

// Subprotocols of OpenAI's: the one that is agreed on, and the one that asks for the
// names of the beta API.
const (
	protocol     = "realtime"
	betaProtocol = "openai-beta.realtime-v1"
)

// wantsBeta reports whether a client speaks as before the API was released.
func wantsBeta(h http.Header) bool {
	return strings.Contains(h.Get("OpenAI-Beta"), "realtime=v1") || strings.Contains(strings.Join(h.Values("Sec-WebSocket-Protocol"), ","), betaProtocol)
}

// connect answers GET /v1/realtime: it serves a session until that ends.
func (a *api) connect(c *server.Call) error {
	cfg, secret := newConfig(), false
	if value, ok := guard.Credential(c.R.Header); ok {
		if saved, ok := a.secrets.config(value); ok {
			cfg, secret = saved, saved.listens
		}
	}
	q := c.R.URL.Query()
	switch intent := q.Get("intent"); intent {
	case "", "conversation":
	case "transcription":
		cfg.listens = true
	default:
		return fault.New(engine.CodeInvalidValue, "intent", "intent must be transcription, got %.60q", intent)
	}
	if q.Has("call_id") {
		return fault.New(engine.CodeUnsupportedParam, "call_id", "there are no calls to join: WebRTC and SIP are not supported; leave call_id out and name a model")
	}
	// Clients name a model for conversations, also with a secret for a session that listens.
	if name := q.Get("model"); name != "" && cfg.listens && !secret {
		cfg.ear.model = name
	} else if name != "" {
		cfg.model = name
	}
	if err := a.exists(&cfg); err != nil {
		return err
	}
	if a.open.Add(1) > int64(a.Options.Realtime.Sessions) {
		a.open.Add(-1)
		e := fault.New(engine.CodeQueueFull, "", "%d sessions are open, the most there may be (realtime.sessions); try again later", a.Options.Realtime.Sessions)
		return e
	}
	defer a.open.Add(-1)
	conn, err := socket.Accept(c, a.Options.Realtime.Message, protocol)
	if err != nil || conn == nil {
		return err
	}
	defer a.Metrics.Session()()
	newSession(a, c, conn, cfg, wantsBeta(c.R.Header)).run()
	return nil
}

// exists refuses a session whose model or voice is not there. Nothing is loaded.
func (a *api) exists(cfg *config) error {
	if cfg.listens && cfg.ear.model == "" {
		return nil // clients name it in session.update, behind the connection
	}
	if cfg.listens || cfg.ear.model != "" {
		if _, err := a.Options.Engine.Find(cfg.ear.model, engine.KindTranscription); err != nil || cfg.listens {
			return err
		}
	}
	if _, err := a.Options.Engine.Find(cfg.model, engine.KindChat); err != nil {
		return err
	}
	m, err := a.Options.Engine.Find(a.speaker(cfg), engine.KindSpeech)
	switch {
	case err != nil && cfg.voiceModel != "":
		return err
	case err != nil || cfg.voice == "": // where nothing speaks, text is answered
		return nil
	}
	return m.CheckVoice(cfg.voice)
}

// speaker is the name of the model that speaks: the one asked for, or the one that has the voice,
// or that which leads a mixture; "" is the default one.
func (a *api) speaker(cfg *config) string {
	first, _, _ := strings.Cut(cfg.voice, "+")
	first, _, _ = strings.Cut(first, "(")
	for _, v := range a.Options.Engine.Voices() {
		if cfg.voiceModel == "" && v.ID == first {
			return v.Model
		}
	}
	return cfg.voiceModel
}
