package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestCompose loads the compose file as compose does, against its schema, and looks for what it
// mounts.
func TestCompose(t *testing.T) {
	path := filepath.Join(root, "deploy", "compose.yaml")
	load := func(env types.Mapping) (*types.Project, error) {
		return loader.LoadWithContext(t.Context(), types.ConfigDetails{
			WorkingDir: filepath.Dir(path), ConfigFiles: []types.ConfigFile{{Filename: path}}, Environment: env,
		}, loader.WithProfiles([]string{"watch"}))
	}
	if _, err := load(types.Mapping{"QUERN_IMAGE": "quern:1"}); err == nil || !strings.Contains(err.Error(), "the key that clients send") {
		t.Errorf("without a key: %v", err)
	}
	p, err := load(types.Mapping{"QUERN_IMAGE": "quern:1", "QUERN_API_KEY": "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if names := p.ServiceNames(); !slices.Equal(names, []string{"grafana", "prometheus", "quern"}) {
		t.Fatalf("services are %v", names)
	}
	files := 0
	for _, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				if _, ok := p.Volumes[v.Source]; !ok {
					t.Errorf("%s mounts %s, which no volume is called", s.Name, v.Source)
				}
				continue
			}
			if files++; !strings.HasPrefix(v.Source, filepath.Dir(path)) {
				t.Errorf("%s mounts %s of the machine", s.Name, v.Source)
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
	if files != 4 {
		t.Errorf("%d files are mounted, want 4", files)
	}
	if q := p.Services["quern"]; q.Ports[0].HostIP != "127.0.0.1" || !q.ReadOnly || q.StopGracePeriod == nil {
		t.Errorf("quern is %+v", q)
	}
	// What Prometheus asks is what quern is told to listen on.
	scraped, err := os.ReadFile(filepath.Join(filepath.Dir(path), "prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(scraped), `"quern:9090"`) || !slices.Contains(p.Services["quern"].Command, "0.0.0.0:9090") {
		t.Errorf("Prometheus asks another address than %v", p.Services["quern"].Command)
	}
}
