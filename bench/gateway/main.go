// Command gateway shows a server's /metrics to the extractor of the Gateway API Inference
// Extension, told of quern by deploy/gateway, and prints what an endpoint picker understands
// of it. It exits with 1 when something is missing. It is a module of its own, so that quern
// does not depend on Kubernetes.
//
//	cd bench/gateway && go run . http://127.0.0.1:8080/metrics
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/datalayer"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/extractor/metrics"
	source "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/source/metrics"
	"sigs.k8s.io/yaml"
)

func main() {
	config := flag.String("config", "../../deploy/gateway/endpoint-picker.yaml", "configuration of the picker")
	flag.Parse()
	p, err := Open(*config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(2)
	}
	status := 0
	for _, u := range flag.Args() {
		s, err := p.scrape(u)
		fmt.Printf("%s: waiting %d, running %d, KV %.3f, blocks %d of %d tokens\n", u, s.Waiting, s.Running, s.KVUsage, s.Blocks, s.BlockSize)
		if err != nil {
			fmt.Fprintln(os.Stderr, "gateway:", err)
			status = 1
		}
	}
	os.Exit(status)
}

func (p *Picker) scrape(u string) (Signals, error) {
	res, err := http.Get(u)
	if err != nil {
		return Signals{}, err
	}
	defer res.Body.Close()
	return p.Read(context.Background(), res.Body)
}

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
