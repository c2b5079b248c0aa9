// Command transcribe writes down what is said in a file, of any common format.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
)

func main() {
	file := "hello.mp3"
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	audio, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}

	// Writing to a buffer does not fail.
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	form.WriteField("model", "whisper-1")
	form.WriteField("language", "en")
	form.WriteField("response_format", "text")
	part, _ := form.CreateFormFile("file", "audio")
	part.Write(audio)
	form.Close()

	req, err := http.NewRequest("POST", cmp.Or(os.Getenv("OPENAI_BASE_URL"), "http://127.0.0.1:8080/v1")+"/audio/transcriptions", &body)
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(os.Getenv("OPENAI_API_KEY"), "none"))
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		log.Fatalf("%s: %s", resp.Status, text)
	}
	fmt.Println(strings.TrimSpace(string(text)))
}
