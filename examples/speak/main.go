// Command speak speaks a sentence into a file.
package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	file := "hello.mp3"
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	body := `{"input": "Hello there. How are you?", "voice": "af_bella", "response_format": "mp3"}`
	req, err := http.NewRequest("POST", cmp.Or(os.Getenv("OPENAI_BASE_URL"), "http://127.0.0.1:8080/v1")+"/audio/speech", strings.NewReader(body))
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

	out, err := os.Create(file)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(out, resp.Body); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("wrote", file)
}
