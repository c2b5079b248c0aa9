package httpapi

import (
	"errors"
	"net/http"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// Operations serves monitoring without a key, apart from the API: for a listener that only
// operators can reach. /metrics, /livez with its other names
// /health and /healthz, and /readyz, which reports a model with ?model=NAME.
func Operations(a *API) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.Metrics.Handler)
	for _, path := range []string{"/livez", "/health", "/healthz"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			tell(w, http.StatusOK, healthStatus{Status: "ok"})
		})
	}
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status, answer, err := readiness(a, r.URL.Query())
		if err != nil {
			e := fault.Internal(err)
			errors.As(fault.Classify(r.Context(), err), &e)
			status, answer = e.Status, healthStatus{Status: "unavailable", Reason: e.Message}
		}
		tell(w, status, answer)
	})
	return mux
}

func tell(w http.ResponseWriter, status int, answer healthStatus) {
	b, err := server.Marshal(answer)
	if err != nil {
		panic(err) // of two texts
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}
