package local

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/sample"
)

// TestSharedSchemas: real schemas, as they come. Each is refused by name before anything
// is generated, or every reply that comes to an end is valid.
func TestSharedSchemas(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "fixtures", "schemas", "maskbench-*.jsonl"))
	if len(files) == 0 || testing.Short() {
		t.Skip("no schemas here, or a short run")
	}
	e := open(t, engine.Options{Defaulted: engine.ModelOptions{ContextLength: 512}})
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	valid, cut, refused := 0, 0, 0
	every := 24
	if fixtures.Whole {
		every = 4
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for n := 0; lines.Scan(); n++ {
			var fixture struct {
				ID     string
				Schema json.RawMessage
			}
			if n%every != 0 || json.Unmarshal(lines.Bytes(), &fixture) != nil {
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				r := engine.GenerateRequest{Prompt: user("Answer."), MaxTokens: 250, Constraint: schemaOf(string(fixture.Schema)), Sample: sample.Params{Temperature: float32(n / every % 2), Seed: uint64(n)}}
				res, err := gather(t.Context(), e, "", r)
				mu.Lock()
				defer mu.Unlock()
				var told *engine.Error
				switch {
				case errors.As(err, &told) && told.Code == engine.CodeInvalidSchema && strings.HasPrefix(told.Param, "schema") && len(res.events) == 0:
					refused++
				case err != nil:
					t.Errorf("%s: %v", fixture.ID, err)
				case res.reason[0] != engine.ReasonStop:
					cut++
				default:
					valid++
					if judge := judgeOf(string(fixture.Schema)); judge != nil {
						if err := judge(res.text[0]); err != nil {
							t.Errorf("%s: %q: %v", fixture.ID, res.text[0], err)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	t.Logf("%d replies are valid, %d were cut off, %d schemas were refused", valid, cut, refused)
	if valid < 15 || refused > valid+cut {
		t.Error("too few schemas came to an end")
	}
}
