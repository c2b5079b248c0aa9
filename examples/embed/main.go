// Command embed prints how near each text is to the first, from -1 to 1.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	texts := []string{"What is the capital of France?", "What is the capital of Italy?", "Tell me a story about a cat."}
	body, err := json.Marshal(map[string]any{"model": "quern-tiny", "input": texts})
	if err != nil {
		log.Fatal(err)
	}
	req, err := http.NewRequest("POST", cmp.Or(os.Getenv("OPENAI_BASE_URL"), "http://127.0.0.1:8080/v1")+"/embeddings", bytes.NewReader(body))
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

	var answer struct {
		Data []struct{ Embedding []float64 }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	for i, text := range texts {
		var near float64 // vectors have length 1, so the cosine is the sum of products
		for j, x := range answer.Data[i].Embedding {
			near += x * answer.Data[0].Embedding[j]
		}
		fmt.Printf("%.2f  %s\n", near, text)
	}
}
