// Package gateway reads a server's /metrics as the endpoint picker of the Gateway API
// Inference Extension does, with the extension's own extractor. It is a module of its own,
// so that quern does not depend on Kubernetes.
package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/datalayer"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/extractor/metrics"
	source "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/source/metrics"
	"sigs.k8s.io/yaml"
)

// A Picker reads metrics as a configuration tells it.
type Picker struct{ extractor *metrics.Extractor }

// Signals are what a picker knows of a server.
type Signals struct {
	Waiting, Running  int
	KVUsage           float64
	BlockSize, Blocks int
}

// Open makes a Picker from a file with an EndpointPickerConfig.
func Open(file string) (*Picker, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var config struct {
		Plugins []struct {
			Type       string          `json:"type"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"plugins"`
	}
	if err := yaml.UnmarshalStrict(text, &struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Plugins    *any   `json:"plugins"`
	}{}); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, p := range config.Plugins {
		if p.Type != metrics.MetricsExtractorType {
			continue
		}
		made, err := metrics.CoreMetricsExtractorFactory("quern", p.Parameters, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return &Picker{made.(*metrics.Extractor)}, nil
	}
	return nil, fmt.Errorf("%s: no plugin of type %s", file, metrics.MetricsExtractorType)
}

// Read extracts what a scrape says. The error names what is missing.
func (p *Picker) Read(ctx context.Context, scrape io.Reader) (Signals, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(scrape)
	if err != nil {
		return Signals{}, err
	}
	to := datalayer.NewEndpoint(&datalayer.EndpointMetadata{}, nil)
	err = p.extractor.Extract(ctx, source.PrometheusMetricMap(families), to)
	m := to.GetMetrics()
	return Signals{m.WaitingQueueSize, m.RunningRequestsSize, m.KVCacheUsagePercent, m.CacheBlockSize, m.CacheNumBlocks}, err
}
