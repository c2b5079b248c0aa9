package audit_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"quern/httpapi/audit"
)

// What was moved away keeps its lines, and the next are in a file of the old name.
func TestReopen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.log")
	l, err := audit.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	write := func(e audit.Entry) {
		t.Helper()
		e.Time = at
		if err := l.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	write(audit.Entry{Request: "req_1", Who: "a", Address: "10.0.0.1", Method: "POST", Path: "/v1/x", Model: "m", Prompt: 3, Output: 4, Status: 200, Millis: 7})
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write(audit.Entry{Request: "req_2", Status: 401, Code: "c"})
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	write(audit.Entry{Request: "req_3"})
	for file, want := range map[string]string{
		name + ".1": `{"time":"2026-01-02T02:04:05Z","request":"req_1","who":"a","address":"10.0.0.1","method":"POST","path":"/v1/x","model":"m","prompt_tokens":3,"output_tokens":4,"status":200,"took_ms":7}
{"time":"2026-01-02T02:04:05Z","request":"req_2","who":"","method":"","path":"","prompt_tokens":0,"output_tokens":0,"status":401,"code":"c","took_ms":0}
`,
		name: `{"time":"2026-01-02T02:04:05Z","request":"req_3","who":"","method":"","path":"","prompt_tokens":0,"output_tokens":0,"status":0,"took_ms":0}` + "\n",
	} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, got)
		}
	}
	if st, err := os.Stat(name); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", st.Mode(), err)
	}
}
