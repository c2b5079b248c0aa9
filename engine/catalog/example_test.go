package catalog_test

import (
	"fmt"
	"io/fs"
	"log"

	"quern/engine"
	"quern/engine/catalog"
)

// chats takes every file for a chat model.
type chats struct{}

func (chats) Describe(_, path string, _ engine.ModelOptions) (*catalog.About, error) {
	return &catalog.About{Path: path, ModelInfo: engine.ModelInfo{Kind: engine.KindChat}}, nil
}
func (chats) IsFile(string) bool                  { return true }
func (chats) IsFolder(string, []fs.DirEntry) bool { return false }

// A model is found by its name, by another name, and without its number type.
func Example() {
	c, err := catalog.New(catalog.Options{Kinds: chats{}, Options: engine.Options{
		Models:  []engine.ModelOptions{{Name: "tiny:q4_k_m", Path: "tiny.gguf"}},
		Aliases: map[string]string{"gpt": "tiny:q4_k_m"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"gpt", "tiny", ""} {
		n, err := c.Lookup(name, engine.KindChat)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n.ID, n.Info().Capabilities)
	}
	_, err = c.Lookup("tiny", engine.KindSpeech)
	fmt.Println(err)
	// Output:
	// tiny:q4_k_m [chat completion embedding]
	// tiny:q4_k_m [chat completion embedding]
	// tiny:q4_k_m [chat completion embedding]
	// model "tiny:q4_k_m" is of type chat, and this endpoint needs speech
}
