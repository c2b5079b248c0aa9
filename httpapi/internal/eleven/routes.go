// Package eleven answers in the dialect of ElevenLabs: its paths, shapes and errors.
package eleven

import "quern/httpapi/internal/server"

type api struct {
	*server.API
	sockets *sockets
}

// Prefix is a prefix under which ElevenLabs' endpoints are served too.
const Prefix = "/elevenlabs"

// speech is where a voice says a text.
const speech = "/v1/text-to-speech/:voice_id"

// Routes returns the endpoints of the dialect, but for the list of models.
func Routes(s *server.API) []server.Route {
	a := api{s, &sockets{}}
	noVoices := server.NotBuilt("voices cannot be made or changed here; put voice packs into the model's voices folder")
	return append(a.socketRoutes(), []server.Route{
		{Method: "POST", Path: speech, Handle: a.Object(a.textToSpeech), Work: true},
		{Method: "POST", Path: speech + "/stream", Handle: a.Object(a.streamSpeech), Work: true},
		{Method: "POST", Path: speech + "/stream/sse", Handle: a.Object(a.streamSpeech), Work: true},
		{Method: "POST", Path: speech + "/with-timestamps", Handle: a.Object(a.timedSpeech), Work: true},
		{Method: "POST", Path: speech + "/stream/with-timestamps", Handle: a.Object(a.streamTimedSpeech), Work: true},
		{Method: "POST", Path: "/v1/speech-to-text", Handle: a.vendorTranscription, Work: true},
		{Method: "GET", Path: "/v1/voices", Handle: a.vendorVoices},
		{Method: "GET", Path: "/v2/voices", Handle: a.searchVoices},
		{Method: "GET", Path: "/v1/voices/:voice_id", Handle: a.vendorVoice},
		{Method: "GET", Path: "/v1/voices/:voice_id/:sub", Handle: a.vendorVoiceSettings}, // :voice_id/settings, settings/default
		{Method: "POST", Path: "/v1/voices/:voice_id", Handle: noVoices},                  // add
		{Method: "POST", Path: "/v1/voices/:voice_id/edit", Handle: noVoices},
		{Method: "DELETE", Path: "/v1/voices/:voice_id", Handle: noVoices},
		{Method: "GET", Path: "/v1/user", Handle: a.vendorUser},
		{Method: "GET", Path: "/v1/user/subscription", Handle: a.vendorSubscription},
	}...)
}

// ListModels answers GET /v1/models for ElevenLabs' clients.
func ListModels(s *server.API, c *server.Call) error { return api{API: s}.listModels(c) }
