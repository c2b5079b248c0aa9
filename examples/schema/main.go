// Command schema prints a member of a reply that is JSON of a schema.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

const body = `{
	"messages": [{"role": "user", "content": "What is the capital of France?"}],
	"temperature": 0,
	"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": {
		"type": "object",
		"properties": {
			"answer": {"type": "string", "pattern": "^The capital of France is [A-Z][a-z]+[.]$"},
			"sure": {"type": "boolean"}
		},
		"required": ["answer", "sure"],
		"additionalProperties": false
	}}}
}`

func main() {
	req, err := http.NewRequest("POST", cmp.Or(os.Getenv("OPENAI_BASE_URL"), "http://127.0.0.1:8080/v1")+"/chat/completions", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(os.Getenv("OPENAI_API_KEY"), "none"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		message, _ := io.ReadAll(resp.Body)
		log.Fatalf("%s: %s", resp.Status, message)
	}

	var reply struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		log.Fatal(err)
	}
	var out struct {
		Answer string
		Sure   bool
	}
	if err := json.Unmarshal([]byte(reply.Choices[0].Message.Content), &out); err != nil {
		log.Fatal(err) // of a reply that was cut off
	}
	fmt.Println(out.Answer)
}
