package metrics_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/spool"
)

// The prefix cache on disk has metrics where there is one, with vLLM's names or without.
func TestDisk(t *testing.T) {
	for _, disk := range []*engine.DiskStats{nil, {Bytes: 1, Limit: 2, Blocks: 3, Hits: 4, Misses: 5, Writes: 6, Dropped: 7, Evicted: 8, Damaged: 9, Errors: 10}} {
		s := adapted{
			models: []engine.ModelInfo{{ID: "m", Kind: engine.KindChat}},
			stats:  engine.Stats{Disk: disk, Models: []engine.ModelStats{{Model: "m", DiskHits: 11}}},
		}
		w := httptest.NewRecorder()
		metrics.New(s, spool.NewPool(1), false, metrics.Build{}, slog.New(slog.DiscardHandler)).Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, line := range []string{
			"bytes 1", "limit_bytes 2", "blocks 3", "hits_total 4", "misses_total 5", "writes_total 6", "writes_dropped_total 7",
			"evictions_total 8", "damaged_total 9", "errors_total 10", `hit_tokens_total{model_name="m"} 11`,
		} {
			if strings.Contains(w.Body.String(), "\nprefix_cache_disk_"+line+"\n") != (disk != nil) {
				t.Errorf("with %+v, %q is there or not:\n%s", disk, line, w.Body)
			}
		}
	}
}
