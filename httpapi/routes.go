package httpapi

// New makes an API. It fails on options that contradict each other.
func New(o Options) (*API, error) { return NewServer(o, dialects) }

// dialects are all that is answered. To add one is to write its package and its line.
func dialects(a *API) []Dialect {
	models := by(a, listModels)
	return []Dialect{
		{Routes: own(a)},
		{Routes: append(OpenAI(a),
			Route{Method: "GET", Path: "/v1/models", Handle: models, Bare: true},
			Route{Method: "HEAD", Path: "/v1/models", Handle: models, Bare: true})},
		{Routes: Cohere(a)},
		{Routes: append(Eleven(a), Route{Method: "GET", Path: "/v1/models", Handle: models, Prefixed: true}),
			Spell: spellVendor, Prefix: VendorPrefix},
	}
}

// listModels answers GET /v1/models: one path, two clients, and no document that
// satisfies both.
func listModels(a *API, c *call) error {
	c.w.Header().Add("Vary", "xi-api-key, User-Agent")
	if c.route.Prefixed || fromElevenLabs(c.r) {
		return ListVoiceModels(a, c)
	}
	return ListModels(a, c)
}

// own are the endpoints for whoever runs the server.
func own(a *API) []Route {
	return []Route{
		{Method: "GET", Path: "/v1/server", Handle: by(a, serveSettings)},
		{Method: "GET", Path: "/metrics", Handle: by(a, serveMetrics), Open: a.o.MetricsPublic},
		{Method: "GET", Path: "/health", Handle: by(a, serveHealth), Open: true},
		{Method: "HEAD", Path: "/health", Handle: by(a, serveHealth), Open: true},
		{Method: "GET", Path: "/livez", Handle: by(a, serveHealth), Open: true},
		{Method: "HEAD", Path: "/livez", Handle: by(a, serveHealth), Open: true},
		{Method: "GET", Path: "/readyz", Handle: by(a, serveReady), Open: true},
		{Method: "HEAD", Path: "/readyz", Handle: by(a, serveReady), Open: true},
	}
}

func by(a *API, serve func(*API, *call) error) func(*call) error {
	return func(c *call) error { return serve(a, c) }
}
