package hub_test

import (
	"fmt"
	"log"

	"quern/engine/hub"
)

func ExampleParseRef() {
	r, err := hub.ParseRef("hub:bartowski/Llama-3.2-1B-Instruct-GGUF:q8_0@main")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Repo(), r.Quant, r.Revision)
	fmt.Println(r)
	_, err = hub.ParseRef("llama")
	fmt.Println(err)
	// Output:
	// bartowski/Llama-3.2-1B-Instruct-GGUF Q8_0 main
	// bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0@main
	// not a model reference: "llama" has no owner: write OWNER/NAME, OWNER/NAME:QUANT or OWNER/NAME/FILE, and @REVISION after it if wanted
}

// A token opens gated models; printed, it is hidden.
func ExampleFindToken() {
	env := func(name string) (string, bool) {
		if name == "HF_TOKEN" {
			return "hf_example", true
		}
		return "", false
	}
	t, err := hub.FindToken(env, "")
	fmt.Println(t, err)
	// Output:
	// token from HF_TOKEN <nil>
}
