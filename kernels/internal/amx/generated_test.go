package amx

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestGenerated decodes the instructions kernels/_gen wrote as bytes and holds them
// to the comments beside them.
func TestGenerated(t *testing.T) {
	registers := strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15")
	text := func(in Inst) string {
		base, rows := "", ""
		if in.Mem.Base >= 0 {
			base = "(" + registers[in.Mem.Base] + ")"
		}
		if in.Mem.Index >= 0 {
			rows = fmt.Sprintf("%d%s(%s*%d), TMM%d", in.Mem.Disp, base, registers[in.Mem.Index], 1<<in.Mem.Shift, in.C)
		}
		switch in.Op {
		case LDTILECFG:
			return "LDTILECFG " + base
		case TILERELEASE:
			return "TILERELEASE"
		case TILEZERO:
			return fmt.Sprintf("TILEZERO TMM%d", in.C)
		case TILELOADD, TILESTORED:
			return in.Op.String() + " " + rows
		}
		return fmt.Sprintf("%v TMM%d, TMM%d, TMM%d", in.Op, in.B, in.A, in.C)
	}
	bytes := regexp.MustCompile(`BYTE\s+\$0x([0-9a-f]{2})`)
	for _, path := range []string{"../../dot/panel_amx_amd64.s", "../../dot/split_amx_amd64.s", "../../gemm/int8_amx_amd64.s"} {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, line := range strings.Split(string(file), "\n") {
			var code []byte
			for _, m := range bytes.FindAllStringSubmatch(line, -1) {
				b, _ := strconv.ParseUint(m[1], 16, 8)
				code = append(code, byte(b))
			}
			if code == nil {
				continue
			}
			n++
			_, want, _ := strings.Cut(line, "// ")
			in, ok := Decode(code)
			if got := text(in); !ok || in.Len != len(code) || got != want {
				t.Errorf("%s:%d: %x is %q, want %q", path, i+1, code, got, want)
			}
		}
		if n == 0 {
			t.Errorf("%s has no AMX instructions", path)
		}
	}
}
