package residency

import (
	"errors"
	"testing"

	"quern/engine"
	"quern/engine/catalog"
)

// TestRetire: models are unloaded before their files are removed, all or none of them;
// requests for one are refused meanwhile, and served afterwards.
func TestRetire(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 3, "b": 3, "c": 3}, func(h *testKeeper) {
		h.ask("a", "1").end()
		busy := h.ask("b", "2")
		both := []*catalog.Entry{h.find("a"), h.find("b")}
		var known *engine.Error
		never := func() error { t.Error("files of a model in use were removed"); return nil }
		if err := h.Retire(both, never); !errors.As(err, &known) || known.Code != engine.CodeModelInUse || known.Param != "model" {
			t.Errorf("in use: %v", err)
		}
		if s := h.State(both[0]); s.Status != "loaded" || s.Bytes != 3 || h.State(both[1]).Users != 1 {
			t.Errorf("%+v beside a busy model", s)
		}
		h.opening["c"] = make(chan struct{})
		loading := h.ask("c", "3")
		if err := h.Retire([]*catalog.Entry{h.find("c")}, never); !errors.As(err, &known) || known.Code != engine.CodeModelInUse {
			t.Errorf("being loaded: %v", err)
		}
		close(h.opening["c"])
		delete(h.opening, "c")
		busy.end()
		failed := errors.New("read-only disk")
		err := h.Retire(both, func() error {
			for _, n := range both {
				if s := h.State(n); s.Status != "unloaded" {
					t.Errorf("%s is %s while its files go", n.ID, s.Status)
				}
			}
			h.ask("a", "4").want("model_not_found")
			if err := h.Retire(both, never); !errors.As(err, &known) || known.Code != engine.CodeModelInUse {
				t.Errorf("twice: %v", err)
			}
			return failed
		})
		if err != failed {
			t.Errorf("%v", err)
		}
		again := h.ask("a", "5")
		again.want("served")
		again.end()
		loading.end()
	})
}
