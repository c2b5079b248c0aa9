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
	cfg, lasts := newConfig(), int64(600)
	if e := o.Object("expires_after"); e != nil {
		e.OneOf("anchor", "created_at")
		lasts = e.Integer("seconds", lasts, 10, 7200)
	}
	if s := o.Object("session"); s != nil {
		if len(s.Raw) > maxSecretSize {
			s.Invalid("must have at most %d bytes, got %d", maxSecretSize, len(s.Raw))
		}
		cfg.read(s)
		cfg.checkChoice(s)
	}
	if err := a.Finish(c, o); err != nil {
		return err
	}
	if err := reachable(); err != nil { // a secret would open nothing
		return err
	}
	expires := time.Now().Add(time.Duration(lasts) * time.Second)
	value, ok := a.secrets.add(c.KeyName(), cfg, expires)
	if !ok {
		return fault.New(engine.CodeQueueFull, "", "%d client secrets are good at the moment, the most there may be; let some expire", maxSecrets)
	}
	return a.WriteJSON(c, 200, object{
		"value": value, "expires_at": expires.Unix(),
		"session": cfg.spell(reqlog.NewID("sess_"), expires.Unix(), false),
	})
}
