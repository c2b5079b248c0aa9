package local

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"quern/engine"
	"quern/engine/catalog"
	"quern/engine/residency"
)

// Stats takes a snapshot of the models, those that are in memory and listed no more included, and
// of the caches that preloaded models and the default one will have, which gateways read before
// these are loaded.
func (e *Engine) Stats() engine.Stats {
	var s engine.Stats
	if n, err := e.catalog.Lookup("", engine.KindChat, engine.KindCompletion); err == nil {
		s.Default = n.ID
	}
	if e.disk != nil {
		d := e.disk.Stats()
		s.Disk = &engine.DiskStats{
			Bytes: d.Bytes, Blocks: d.Files, Limit: cmp.Or(e.o.PrefixCache.Size, engine.DefaultPrefixCache),
			Hits: d.Hits, Misses: d.Misses, Writes: d.Writes, Dropped: d.Dropped, Evicted: d.Evicted, Damaged: d.Damaged, Errors: d.Errors,
		}
	}
	list := e.catalog.List()
	e.caches.forget(list)
	for _, n := range list {
		resident := false
		e.models.Look(n, func(m residency.Model, waiting int) {
			resident = true
			i := m.Stats()
			i.Kind = n.About().Kind
			i.Waiting += waiting
			s.Models = append(s.Models, i)
		})
		if resident {
			continue
		}
		s.Loading += e.models.State(n).Waiting
		if n.Options.Preloads() || n.ID == s.Default {
			if c := e.caches.of(e, n); c.Blocks > 0 {
				s.Planned = append(s.Planned, c)
			}
		}
	}
	e.models.Others(list, func(n *catalog.Entry, m residency.Model) {
		i := m.Stats()
		i.Kind = n.About().Kind
		if at := slices.IndexFunc(s.Models, func(x engine.ModelStats) bool { return x.Model == i.Model }); at >= 0 {
			s.Models[at].Add(i)
		} else {
			s.Models = append(s.Models, i)
		}
	})
	return s
}

// plans are the caches of models by their headers, worked out once.
type plans struct {
	mu    sync.Mutex
	known map[*catalog.Entry]engine.CachePlan
}

// of is the cache of a model; without blocks there is none, or it cannot be known yet.
func (p *plans) of(e *Engine, n *catalog.Entry) engine.CachePlan {
	if n.About().Remote {
		return engine.CachePlan{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.known[n]
	if ok {
		return c
	}
	if cache := kindOf(n.About().Path).cache; cache != nil {
		var err error
		if c, err = cache(e.ctx, e, n); err != nil {
			e.log.Debug("cache of a model that cannot be planned", "model", n.ID, "err", err)
		}
	}
	if p.known == nil {
		p.known = map[*catalog.Entry]engine.CachePlan{}
	}
	p.known[n] = c
	return c
}

// forget drops the plans of models that are not listed.
func (p *plans) forget(list []*catalog.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.known, func(n *catalog.Entry, _ engine.CachePlan) bool { return !slices.Contains(list, n) })
}
