// Package httpapi serves an engine over HTTP in the dialects of OpenAI, ElevenLabs and
// Cohere.
//
// It turns JSON into engine requests and engine events into JSON or server-sent events. It
// keeps no state about models, and of conversations only those that /v1/responses stores.
package httpapi

import (
	"log/slog"

	"quern/httpapi/internal/guard"
	"quern/httpapi/internal/limits"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
)

// Types and constants of package server that callers use.
type (
	API     = server.API
	Options = server.Options
	Engine  = server.Engine
	Store   = server.Store
	Jobs    = server.Jobs
	Key     = guard.Key
	Limit   = limits.Limit

	Realtime  = server.Realtime
	Responses = server.Responses
	// A ReasoningField is the field of chats' answers that has thinking: one of
	// ReasoningFields.
	ReasoningField = server.ReasoningField
)

// DefaultReasoningField is that of Options without one.
const DefaultReasoningField = server.ReasoningContent

// ReasoningFields are the fields there are.
func ReasoningFields() []string { return server.ReasoningFields() }

// ReasoningEfforts are those a chat may name, least first; the first is none.
func ReasoningEfforts() []string { return server.ReasoningEfforts() }

// MostLogprobs is the largest top_logprobs of a chat, and of Options.MaxLogprobs.
const MostLogprobs = server.MostLogprobs

// Defaults of Options that are zero.
const (
	DefaultJSONBody          = server.DefaultJSONBody
	DefaultUpload            = server.DefaultUpload
	DefaultTempFiles         = server.DefaultTempFiles
	DefaultSpeechChars       = server.DefaultSpeechChars
	DefaultMaxN              = server.DefaultMaxN
	DefaultMaxLogprobs       = server.DefaultMaxLogprobs
	DefaultCompletionsTokens = server.DefaultCompletionsTokens

	DefaultRealtimeSessions = server.DefaultRealtimeSessions
	DefaultRealtimeMessage  = server.DefaultRealtimeMessage
	DefaultRealtimeEvents   = server.DefaultRealtimeEvents
	DefaultRealtimeItems    = server.DefaultRealtimeItems
	DefaultRealtimeAudio    = server.DefaultRealtimeAudio
	DefaultRealtimeStep     = server.DefaultRealtimeStep
	DefaultRealtimeIdle     = server.DefaultRealtimeIdle
	DefaultRealtimeTotal    = server.DefaultRealtimeTotal

	DefaultResponsesBytes      = server.DefaultResponsesBytes
	DefaultResponsesCount      = server.DefaultResponsesCount
	DefaultResponsesAge        = server.DefaultResponsesAge
	DefaultResponsesBackground = server.DefaultResponsesBackground

	DefaultRequestTimeout = server.DefaultRequestTimeout
	DefaultStreamWrite    = server.DefaultStreamWrite
	DefaultKeepAlive      = server.DefaultKeepAlive
	DefaultHeaderDelay    = server.DefaultHeaderDelay
	DefaultShutdownGrace  = server.DefaultShutdownGrace
)

// DefaultOrigins are the pages that may call an API without AllowedOrigins.
func DefaultOrigins() []string { return server.DefaultOrigins() }

// New makes an API. It fails on options that contradict each other.
func New(o Options) (*API, error) { return server.New(o, dialects) }

// LogHandler passes records on to h and gives those that were logged with the
// context of a request its id, as request=ID.
func LogHandler(h slog.Handler) slog.Handler { return reqlog.Handler(h) }
