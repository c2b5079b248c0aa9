package dot

import (
	"testing"

	"quern/kernels/quant"
)

// TestPanelsFit checks that a stretch of every type fits the buffer its panel is
// written to.
func TestPanelsFit(t *testing.T) {
	for level := range panels {
		for typ, k := range panels[level] {
			if k.pack == nil {
				continue
			}
			if n := stretch / k.block * k.columns * 4 * k.lanes; n > panelBytes || stretch%k.block != 0 {
				t.Errorf("level %d, %v: %d bytes of %d", level, quant.Type(typ), n, panelBytes)
			}
		}
	}
}
