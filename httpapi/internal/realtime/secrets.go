package realtime

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/guard"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
)

// Bounds of client secrets.
const (
	maxSecrets    = 1024
	maxSecretSize = 64 << 10 // bytes of a session that is kept
)

// secretPrefix begins client secrets.
const secretPrefix = "ek_"

// secrets open a session for a short while, for clients that must not know a key.
type secrets struct {
	mu   sync.Mutex
	live map[string]secret
}

type secret struct {
	owner   string // name of the key it was made with
	cfg     config
	expires time.Time
}

// find returns a secret that is still good.
func (s *secrets) find(value string) (secret, bool) {
	if !strings.HasPrefix(value, secretPrefix) {
		return secret{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.live[value]
	return found, ok && time.Now().Before(found.expires)
}

// admit lets in who has a secret, as who made it.
func (s *secrets) admit(r *http.Request) (name string, ok bool) {
	value, ok := guard.Credential(r.Header)
	if !ok {
		return "", false
	}
	found, ok := s.find(value)
	return found.owner, ok
}

// config is the session a secret was made for.
func (s *secrets) config(value string) (config, bool) {
	found, ok := s.find(value)
	return found.cfg, ok
}

// add keeps a secret, unless there are too many.
func (s *secrets) add(owner string, cfg config, expires time.Time) (value string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for v, old := range s.live {
		if !now.Before(old.expires) {
			delete(s.live, v)
		}
	}
	if len(s.live) >= maxSecrets {
		return "", false
	}
	if s.live == nil {
		s.live = map[string]secret{}
	}
	value = reqlog.NewID(secretPrefix)
	s.live[value] = secret{owner, cfg, expires}
	return value, true
}

// newSecret answers POST /v1/realtime/client_secrets.
func (a *api) newSecret(c *server.Call, o *body.Object) error {
	cfg := newConfig()
	lasts := lifetime(o, "expires_after")
	if s := o.Object("session"); s != nil {
		cfg.readSecret(s)
	}
	value, expires, err := a.makeSecret(c, o, cfg, lasts)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, object{"value": value, "expires_at": expires, "session": cfg.spell(reqlog.NewID("sess_"), expires, false)})
}

// newTranscriptionSession answers POST /v1/realtime/transcription_sessions of the beta API:
// a secret for a session of that type, whose configuration is the body.
func (a *api) newTranscriptionSession(c *server.Call, o *body.Object) error {
	cfg := newConfig()
	cfg.listens = true
	lasts := usualLifetime
	if s := o.Object("client_secret"); s != nil {
		field := "expires_at" // as its clients call it; its documents have the other
		if s.Has("expires_after") {
			field = "expires_after"
		}
		lasts = lifetime(s, field)
	}
	cfg.readSecret(o)
	cfg.listens = true
	value, expires, err := a.makeSecret(c, o, cfg, lasts)
	if err != nil {
		return err
	}
	out := cfg.spell(reqlog.NewID("sess_"), expires, true).(object)
	out["client_secret"] = object{"value": value, "expires_at": expires}
	return a.WriteJSON(c, 200, out)
}

// usualLifetime is how many seconds a secret is good for.
const usualLifetime int64 = 600

// lifetime reads how long a secret is good for.
func lifetime(o *body.Object, field string) int64 {
	if e := o.Object(field); e != nil {
		e.OneOf("anchor", "created_at")
		return e.Integer("seconds", usualLifetime, 10, 7200)
	}
	return usualLifetime
}

// readSecret takes the configuration that a secret keeps.
func (c *config) readSecret(o *body.Object) {
	if len(o.Raw) > maxSecretSize {
		o.Invalid("must have at most %d bytes, got %d", maxSecretSize, len(o.Raw))
	}
	c.read(o)
	c.checkChoice(o)
}

// makeSecret makes one of a body that was read.
func (a *api) makeSecret(c *server.Call, o *body.Object, cfg config, seconds int64) (value string, expires int64, err error) {
	if err := a.Finish(c, o); err != nil {
		return "", 0, err
	}
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	value, ok := a.secrets.add(c.KeyName(), cfg, until)
	if !ok {
		return "", 0, fault.New(engine.CodeQueueFull, "", "%d client secrets are good at the moment, the most there may be; let some expire", maxSecrets)
	}
	return value, until.Unix(), nil
}
