package asr

import (
	"quern/engine/graph"
	"quern/formats/weights"
)

// A Network is the two halves of a model that come as graphs of their own, whose
// weights this package does not see. Both run as the Programs it records would:
//
// Encoder takes Features, (places, 2·bands), of one window and keeps what the
// decoder needs of it under the blocks of the only table. Its results are not
// read. Decoder takes tokens of any number of sequences; its only result is the
// logits of the wanted rows.
type Network struct {
	Encoder, Decoder graph.Exec
	Cache            graph.Cache
}

// NewNetwork is New for a model whose network open makes, for a cache of the
// CacheSpec that open is called with. The Model closes the network and set with itself. Of set
// only the texts are used. Such a model gives no times of words.
func NewNetwork(set *weights.Set, open func(graph.CacheSpec) (Network, error), o OpenOptions) (*Model, error) {
	m, err := describe(set)
	if err != nil {
		return nil, err
	}
	var n Network
	if err := m.reserve(func(s graph.CacheSpec) (graph.Cache, error) {
		n, err = open(s)
		return n.Cache, err
	}, o); err != nil {
		return nil, err
	}
	m.encoder = newRunner(n.Encoder)
	m.decode = startWorker(n.Decoder, m.cache, max(m.config.decoder.places, maxWant))
	return m, nil
}
