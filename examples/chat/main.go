// Command chat prints a reply piece by piece, as the model writes it.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := `{
		"messages": [{"role": "user", "content": "What is the capital of France?"}],
		"temperature": 0,
		"stream": true
	}`
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

	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		event := strings.TrimPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(event, "{") {
			continue // an empty line, a comment that keeps the connection open, or [DONE]
		}
		var chunk struct {
			Choices []struct {
				Delta struct{ Content string }
			}
			Error *struct{ Message string }
		}
		if err := json.Unmarshal([]byte(event), &chunk); err != nil {
			log.Fatal(err)
		}
		if chunk.Error != nil {
			log.Fatal(chunk.Error.Message)
		}
		for _, c := range chunk.Choices {
			fmt.Print(c.Delta.Content)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println()
}
