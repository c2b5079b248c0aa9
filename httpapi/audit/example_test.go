package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"quern/httpapi/audit"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := audit.Open(filepath.Join(dir, "audit.log"))
	if err != nil {
		panic(err)
	}
	defer l.Close()
	l.Write(audit.Entry{Time: time.Unix(0, 0), Who: "kim", Method: "POST", Path: "/v1/embeddings", Model: "mini", Prompt: 12, Status: 200})
	text, _ := os.ReadFile(filepath.Join(dir, "audit.log"))
	fmt.Print(string(text))
	// Output:
	// {"time":"1970-01-01T00:00:00Z","request":"","who":"kim","method":"POST","path":"/v1/embeddings","model":"mini","prompt_tokens":12,"output_tokens":0,"status":200,"took_ms":0}
}
