package httpapi

import (
	"net/http"
	"strings"

	"github.com/julienschmidt/httprouter"
)

// A route is one endpoint. All routes answer under their path, and those
// marked bare also without /v1, because base URLs are given both ways.
type route struct {
	method string
	path   string
	handle func(*API, *call) error
	open   bool // needs no key
	work   bool // runs a model: refused while shutting down
	bare   bool

	vendor     bool // answers, and fails, in ElevenLabs' dialect
	cohere     bool // fails in Cohere's dialect
	vendorOnly bool // under ElevenLabs' prefix, where nothing has to be guessed
}

func (a *API) routes() []route {
	return []route{
		{method: "POST", path: "/v1/chat/completions", handle: (*API).chatCompletions, work: true, bare: true},
		{method: "POST", path: "/v1/chat/completions/render", handle: (*API).render, work: true, bare: true},
		{method: "POST", path: "/v1/completions", handle: (*API).completions, work: true, bare: true},
		{method: "POST", path: "/v1/embeddings", handle: (*API).embeddings, work: true, bare: true},
		{method: "POST", path: "/v1/rerank", handle: (*API).rerank, work: true, bare: true},
		{method: "POST", path: "/v2/rerank", handle: (*API).rerankV2, work: true, cohere: true},
		{method: "POST", path: "/v1/audio/transcriptions", handle: (*API).transcriptions, work: true, bare: true},
		{method: "POST", path: "/v1/audio/translations", handle: (*API).translations, work: true, bare: true},
		{method: "POST", path: "/v1/audio/speech", handle: (*API).speech, work: true, bare: true},
		{method: "POST", path: "/v1/audio/phonemize", handle: (*API).phonemize, work: true, bare: true},
		{method: "GET", path: "/v1/audio/voices", handle: (*API).voices, bare: true},
		{method: "POST", path: "/v1/audio/voices", handle: notBuilt("voices cannot be uploaded; put voice packs into the model's voices folder"), bare: true},
		{method: "POST", path: "/v1/tokenize", handle: (*API).tokenize, work: true, bare: true},
		{method: "POST", path: "/v1/detokenize", handle: (*API).detokenize, work: true, bare: true},

		{method: "GET", path: "/v1/models", handle: (*API).listModels, bare: true},
		{method: "HEAD", path: "/v1/models", handle: (*API).listModels, bare: true},
		{method: "GET", path: "/v1/models/*id", handle: (*API).getModel, bare: true},
		{method: "POST", path: "/v1/models/load", handle: (*API).loadModel, work: true, bare: true},
		{method: "POST", path: "/v1/models/unload", handle: (*API).unloadModel, bare: true},

		{method: "GET", path: "/v1/server", handle: (*API).server},
		{method: "GET", path: "/metrics", handle: (*API).serveMetrics, open: a.o.MetricsPublic},
		{method: "GET", path: "/health", handle: (*API).health, open: true},
		{method: "HEAD", path: "/health", handle: (*API).health, open: true},
		{method: "GET", path: "/livez", handle: (*API).health, open: true},
		{method: "HEAD", path: "/livez", handle: (*API).health, open: true},
		{method: "GET", path: "/readyz", handle: (*API).readyz, open: true},
		{method: "HEAD", path: "/readyz", handle: (*API).readyz, open: true},
	}
}

// vendorRoutes are ElevenLabs' endpoints. They answer under their path and under
// /elevenlabs.
func vendorRoutes() []route {
	const speech = "/v1/text-to-speech/:voice_id"
	noVoices := notBuilt("voices cannot be made or changed here; put voice packs into the model's voices folder")
	return []route{
		{method: "POST", path: speech, handle: (*API).textToSpeech, work: true},
		{method: "POST", path: speech + "/stream", handle: (*API).streamSpeech, work: true},
		{method: "POST", path: speech + "/stream/sse", handle: (*API).streamSpeech, work: true},
		{method: "POST", path: speech + "/with-timestamps", handle: (*API).timedSpeech, work: true},
		{method: "POST", path: speech + "/stream/with-timestamps", handle: (*API).streamTimedSpeech, work: true},
		{method: "POST", path: "/v1/speech-to-text", handle: (*API).vendorTranscription, work: true},
		{method: "GET", path: "/v1/voices", handle: (*API).vendorVoices},
		{method: "GET", path: "/v2/voices", handle: (*API).searchVoices},
		{method: "GET", path: "/v1/voices/:voice_id", handle: (*API).vendorVoice},
		{method: "GET", path: "/v1/voices/:voice_id/:sub", handle: (*API).vendorVoiceSettings}, // :voice_id/settings, settings/default
		{method: "POST", path: "/v1/voices/:voice_id", handle: noVoices},                       // add
		{method: "POST", path: "/v1/voices/:voice_id/edit", handle: noVoices},
		{method: "DELETE", path: "/v1/voices/:voice_id", handle: noVoices},
		{method: "GET", path: "/v1/user", handle: (*API).vendorUser},
		{method: "GET", path: "/v1/user/subscription", handle: (*API).vendorSubscription},
	}
}

// vendorPrefix is where ElevenLabs' endpoints are beside their own paths.
const vendorPrefix = "/elevenlabs"

// Paths of requests that no route took, in the metrics.
const (
	pathUnmatched = "unmatched"
	pathPreflight = "preflight"
)

// allRoutes are ours and ElevenLabs'.
func (a *API) allRoutes() []route {
	all := a.routes()
	for _, rt := range vendorRoutes() {
		rt.vendor = true
		all = append(all, rt)
		rt.vendorOnly = true
		rt.path = vendorPrefix + rt.path
		all = append(all, rt)
	}
	return append(all, route{method: "GET", path: vendorPrefix + "/v1/models", handle: (*API).listModels, vendor: true, vendorOnly: true})
}

func (a *API) newRouter() *httprouter.Router {
	r := httprouter.New()
	// A redirected POST loses its body or its key.
	r.RedirectTrailingSlash = false
	r.RedirectFixedPath = false
	r.HandleOPTIONS = false // ServeHTTP answers them
	r.HandleMethodNotAllowed = true
	for _, rt := range a.allRoutes() {
		h := func(w http.ResponseWriter, req *http.Request, ps httprouter.Params) {
			a.dispatch(&call{w: w.(*response), r: req, route: &rt, params: ps})
		}
		r.Handle(rt.method, rt.path, h)
		if rt.bare {
			r.Handle(rt.method, strings.TrimPrefix(rt.path, "/v1"), h)
		}
	}
	unmatched := func(e func(*http.Request) *apiError) http.HandlerFunc {
		rt := route{path: pathUnmatched, handle: func(_ *API, c *call) error { return e(c.r) }}
		return func(w http.ResponseWriter, req *http.Request) {
			open := rt
			// Without a key nobody learns which paths exist under /v1.
			open.open = !strings.HasPrefix(req.URL.Path, "/v1/")
			open.vendor = strings.HasPrefix(req.URL.Path, vendorPrefix+"/")
			a.dispatch(&call{w: w.(*response), r: req, route: &open})
		}
	}
	r.NotFound = unmatched(func(r *http.Request) *apiError {
		return fail(codeUnknownURL, "", "there is no endpoint at %s %.200s; check the base URL and the path", r.Method, r.URL.Path)
	})
	r.MethodNotAllowed = unmatched(func(r *http.Request) *apiError {
		return fail(codeMethod, "", "%s is not allowed at %.200s; the Allow header lists what is", r.Method, r.URL.Path)
	})
	return r
}
