package chart

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const (
	root = "../../.."
	dir  = root + "/deploy/helm/quern"
)

// everything is each part of the chart at once.
const everything = `
replicas: 3
image: {repository: registry.example/quern, tag: 1.2.3, pullSecrets: [registry]}
auth: {secret: clients, keys: [{name: team-a, requests_per_minute: 60}, {name: team-b, manage: true}]}
tls: {secret: certificate, clients: true}
models: [{name: chat, path: /models/chat.gguf, preload: true, keep_alive: never}]
storage: {claim: models}
config: {limits: {upload: 1GiB}, log: {level: warn}}
jobs: {store: "nats://nats-0,nats://nats-1"}
gateway: {enabled: true}
podMonitor: {enabled: true, labels: {release: prometheus}}
keda: {enabled: true}
podLabels: {team: a}
podAnnotations: {note: b}
nodeSelector: {kubernetes.io/arch: arm64}
tolerations: [{key: dedicated, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: high
runtimeClassName: nvidia
env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}]
`

// TestChart renders the chart in several ways and checks what Kubernetes would find out only when
// pods start: that names in one object are in another, and that quern takes its settings.
func TestChart(t *testing.T) {
	quern := filepath.Join(t.TempDir(), "quern")
	build := exec.Command("go", "build", "-o", quern, "./cmd/quern")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, tt := range []struct {
		name, values string
		all          bool     // optional objects are there
		settings     []string // some of what quern says it has understood
	}{
		{"as it is", "", false, []string{"listen: 0.0.0.0:8080", "shutdown_delay: 5s", "store: \"off\""}},
		{"everything", everything, true, []string{"upload: 1GiB", "level: warn", "format: json", "name: team-b", "requests_per_minute: 60", "client_ca:"}},
		{"no keys", "auth: {none: true, keys: []}", false, []string{"auth: none"}},
		{"other times", "shutdown: {delay: 0, grace: 600}", false, []string{"shutdown_grace: 10m"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := Render(dir, "one", tt.values)
			if err != nil {
				t.Fatal(err)
			}
			if got := []bool{o.InferencePool != nil, o.PodMonitor != nil, o.ScaledObject != nil}; slices.Contains(got, !tt.all) {
				t.Errorf("InferencePool, PodMonitor and ScaledObject are there: %v, want %v", got, tt.all)
			}
			if o.ConfigMap == nil || o.Deployment == nil || o.Service == nil || o.Disruption == nil || o.Notes == "" {
				t.Fatalf("something is missing: %+v", o)
			}
			fits(t, o)
			text := understood(t, quern, o.ConfigMap.Data["quern.yaml"])
			for _, want := range tt.settings {
				if !strings.Contains(text, want) {
					t.Errorf("quern does not say %q:\n%s", want, text)
				}
			}
		})
	}
}

// fits checks that the objects go together.
func fits(t *testing.T, o *Objects) {
	t.Helper()
	pod := o.Deployment.Spec.Template
	c := pod.Spec.Containers[0]
	selectors := map[string]map[string]string{"Deployment": o.Deployment.Spec.Selector.MatchLabels, "Service": o.Service.Spec.Selector, "PodDisruptionBudget": o.Disruption.Spec.Selector.MatchLabels}
	if o.PodMonitor != nil {
		selectors["PodMonitor"] = o.PodMonitor.Spec.Selector.MatchLabels
	}
	if o.InferencePool != nil {
		selectors["InferencePool"] = map[string]string{}
		for k, v := range o.InferencePool.Spec.Selector.MatchLabels {
			selectors["InferencePool"][string(k)] = string(v)
		}
	}
	for name, s := range selectors {
		if len(s) == 0 || !subset(s, pod.Labels) {
			t.Errorf("%s selects %v, pods have %v", name, s, pod.Labels)
		}
	}
	ports := map[string]bool{}
	for _, p := range c.Ports {
		ports[p.Name] = true
		ports[fmt.Sprint(p.ContainerPort)] = true
	}
	for _, name := range []string{o.Service.Spec.Ports[0].TargetPort.String(), c.StartupProbe.HTTPGet.Port.String(), c.ReadinessProbe.HTTPGet.Port.String(), c.LivenessProbe.HTTPGet.Port.String()} {
		if !ports[name] {
			t.Errorf("port %q is not among %v", name, c.Ports)
		}
	}
	if o.PodMonitor != nil && !ports[*o.PodMonitor.Spec.PodMetricsEndpoints[0].Port] {
		t.Errorf("the scraped port is not among %v", c.Ports)
	}
	if o.InferencePool != nil && !ports[fmt.Sprint(o.InferencePool.Spec.TargetPorts[0].Number)] {
		t.Errorf("the pool's port is not among %v", c.Ports)
	}
	if o.ScaledObject != nil {
		if o.ScaledObject.Spec.ScaleTargetRef.Name != o.Deployment.Name {
			t.Errorf("%s is scaled, not %s", o.ScaledObject.Spec.ScaleTargetRef.Name, o.Deployment.Name)
		}
		if o.Deployment.Spec.Replicas != nil {
			t.Errorf("KEDA and the chart both say how many pods there are")
		}
		if q := o.ScaledObject.Spec.Triggers[0].Metadata["query"]; !strings.Contains(q, `pod=~"`+o.Deployment.Name+`-.*"`) || !strings.Contains(q, `namespace="there"`) {
			t.Errorf("scaled by %s", q)
		}
	}
	volumes := map[string]corev1.Volume{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = v
	}
	mounted := map[string]bool{}
	for _, m := range c.VolumeMounts {
		mounted[m.Name] = true
		if _, ok := volumes[m.Name]; !ok {
			t.Errorf("%s is mounted and not there", m.Name)
		}
	}
	if len(mounted) != len(volumes) {
		t.Errorf("mounted %v of %v", slices.Sorted(maps.Keys(mounted)), slices.Sorted(maps.Keys(volumes)))
	}
	if got := volumes["config"].ConfigMap.Name; got != o.ConfigMap.Name {
		t.Errorf("the settings are of %s, not %s", got, o.ConfigMap.Name)
	}
	s := c.SecurityContext
	if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !*pod.Spec.SecurityContext.RunAsNonRoot || *pod.Spec.AutomountServiceAccountToken {
		t.Errorf("the pod may do more than it has to: %+v, %+v", s, pod.Spec.SecurityContext)
	}
	if pod.Annotations["checksum/config"] == "" {
		t.Error("pods do not start anew with new settings")
	}
}

func subset(a, b map[string]string) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// understood has quern read the settings, and returns what it says it has understood. Files that
// Kubernetes mounts are put where they can be.
func understood(t *testing.T, quern, settings string) string {
	t.Helper()
	etc := t.TempDir()
	for _, name := range []string{"keys/default", "keys/team-a", "keys/team-b", "tls/tls.crt", "tls/tls.key", "tls/ca.crt", "quern.yaml"} {
		text := "secret of " + name
		if name == "quern.yaml" {
			text = strings.ReplaceAll(settings, "/etc/quern", etc)
		}
		path := filepath.Join(etc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(quern, "serve", "--config", filepath.Join(etc, "quern.yaml"), "--print-config")
	cmd.Env = []string{"HOME=" + etc}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, settings)
	}
	return string(text)
}

// TestRefused has values that the schema does not let through, and a chart with a misspelt field.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, values, want string }{
		{"a misspelt value", "replica: 3", "replica"},
		{"a misspelt value further in", "storage: {clam: x}", "clam"},
		{"a number as text", "replicas: three", "replicas"},
		{"no Secret and keys", `auth: {secret: ""}`, "secret"},
		{"no keys", "auth: {keys: []}", "keys"},
		{"the key itself", "auth: {keys: [{name: a, key: secret}]}", "key"},
		{"jobs of one pod", "jobs: {store: embedded}", "store"},
		{"a size that is none", "storage: {size: large}", "size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Render(dir, "one", tt.values)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want one that names %q", err, tt.want)
			}
		})
	}
	t.Run("a misspelt field", func(t *testing.T) {
		bad := t.TempDir()
		if err := os.CopyFS(bad, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(bad, "templates", "deployment.yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), "enableServiceLinks", "enableServiceLinkz", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Render(bad, "one", ""); err == nil || !strings.Contains(err.Error(), "enableServiceLinkz") {
			t.Errorf("%v, want one that names the field", err)
		}
	})
}
