// Package chart renders a Helm chart with Helm's own engine, and decodes what comes out strictly
// into the types of Kubernetes, of its inference gateway, of Prometheus' operator and of KEDA.
package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	kedav1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	"sigs.k8s.io/yaml"
)

// Objects are what a chart makes, nil where it does not.
type Objects struct {
	ConfigMap     *corev1.ConfigMap
	Deployment    *appsv1.Deployment
	Service       *corev1.Service
	Disruption    *policyv1.PodDisruptionBudget
	InferencePool *inferencev1.InferencePool
	PodMonitor    *monitoringv1.PodMonitor
	ScaledObject  *kedav1.ScaledObject
	Notes         string
}

// decode reads a document into what kind says it is.
func (o *Objects) decode(kind string, doc []byte) error {
	into := map[string]func() error{
		"v1/ConfigMap":                  strict(&o.ConfigMap, doc),
		"apps/v1/Deployment":            strict(&o.Deployment, doc),
		"v1/Service":                    strict(&o.Service, doc),
		"policy/v1/PodDisruptionBudget": strict(&o.Disruption, doc),
		"inference.networking.k8s.io/v1/InferencePool": strict(&o.InferencePool, doc),
		"monitoring.coreos.com/v1/PodMonitor":          strict(&o.PodMonitor, doc),
		"keda.sh/v1alpha1/ScaledObject":                strict(&o.ScaledObject, doc),
	}[kind]
	if into == nil {
		return fmt.Errorf("no type is known for it")
	}
	return into()
}

func strict[T any](to **T, doc []byte) func() error {
	return func() error {
		if *to != nil {
			return fmt.Errorf("it is there twice")
		}
		*to = new(T)
		return yaml.UnmarshalStrict(doc, *to)
	}
}

// Render renders the chart in a folder as the release NAME in the namespace "there". Values are
// YAML, over those of the chart; what the chart's schema does not allow is an error.
func Render(dir, name, values string) (*Objects, error) {
	c, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	own := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &own); err != nil {
		return nil, err
	}
	v, err := util.ToRenderValues(c, own, common.ReleaseOptions{Name: name, Namespace: "there", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(c, v)
	if err != nil {
		return nil, err
	}
	o := &Objects{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(path, "NOTES.txt") {
			o.Notes = files[path]
			continue
		}
		for doc := range strings.SplitSeq(files[path], "\n---\n") {
			if strings.TrimSpace(doc) == "" {
				continue
			}
			if err := o.add([]byte(doc)); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", path, err, doc)
			}
		}
	}
	return o, nil
}

func (o *Objects) add(doc []byte) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return err
	}
	kind := head.APIVersion + "/" + head.Kind
	if err := o.decode(kind, doc); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}
