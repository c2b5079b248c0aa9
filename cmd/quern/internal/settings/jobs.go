package settings

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	jobsstore "quern/httpapi/jobs"
)

// natsSchemes are those of addresses of a cluster.
var natsSchemes = []string{"nats", "tls", "ws", "wss"}

// jobsStore is a word, or addresses with commas between them.
func jobsStore(s string) (string, error) {
	switch word := strings.ToLower(s); word {
	case "embedded", "off":
		return word, nil
	}
	for a := range strings.SplitSeq(s, ",") {
		if u, err := url.Parse(a); err != nil || u.Host == "" || !slices.Contains(natsSchemes, u.Scheme) {
			return "", fmt.Errorf("%q is neither embedded nor off nor an address as nats://HOST:4222", a)
		}
	}
	return s, nil
}

// check refuses settings of a cluster without a cluster.
func (j *jobs) check() error {
	if (j.TLS.Cert == "") != (j.TLS.Key == "") {
		return errors.New("tls: give cert and key together")
	}
	if j.Store != "embedded" && j.Store != "off" {
		return nil
	}
	for name, set := range map[string]bool{"replicas": j.Replicas > 1, "credentials": j.Credentials != "", "tls": j.TLS != jobsTLS{}} {
		if set {
			return fmt.Errorf("%s is of a cluster, and store is %s; name the cluster's addresses there", name, j.Store)
		}
	}
	return nil
}

// JobsOptions translates s for jobs.New; dir is the folder without jobs.dir. It returns
// false where there are to be no jobs.
func (s *Settings) JobsOptions(dir string, log *slog.Logger) (jobsstore.Options, bool) {
	j := &s.Jobs
	o := jobsstore.Options{Dir: dir, MaxBytes: int64(j.MaxBytes), TTL: j.TTL.orOff(), Workers: j.Workers, LongLine: int(s.Limits.JSONBody), Log: log}
	if j.Dir != "" {
		o.Dir = j.Dir
	}
	o.Workers = cmp.Or(o.Workers, -1)
	if s.Responses.Store == "jobs" {
		o.ResponseBytes, o.ResponseAge = int64(s.Responses.Bytes), s.Responses.Age.std()
	}
	switch j.Store {
	case "off":
		return o, false
	case "embedded":
	default:
		o.Servers = strings.Split(j.Store, ",")
		o.Replicas, o.Credentials = j.Replicas, j.Credentials
		o.CA, o.Cert, o.Key = j.TLS.CA, j.TLS.Cert, j.TLS.Key
	}
	return o, true
}
