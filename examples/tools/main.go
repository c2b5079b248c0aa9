// Command tools lets the model call a function, sends the result back and prints the answer.
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

type message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
	ToolCalls  []call  `json:"tool_calls,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON
	} `json:"function"`
}

var tools = json.RawMessage(`[{"type": "function", "function": {
	"name": "get_weather",
	"description": "Current weather in a city",
	"parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}
}}]`)

var functions = map[string]func(arguments []byte) (any, error){"get_weather": getWeather}

func getWeather(arguments []byte) (any, error) {
	var at struct{ City string }
	if err := json.Unmarshal(arguments, &at); err != nil {
		return nil, err
	}
	return map[string]int{"celsius": 21}, nil // the weather is always the same
}

func main() {
	question := "What is the weather in Oslo?"
	messages := []message{{Role: "user", Content: &question}}
	for range 5 { // a model may call several times, but not for ever
		reply, err := ask(messages)
		if err != nil {
			log.Fatal(err)
		}
		if len(reply.ToolCalls) == 0 {
			fmt.Println(*reply.Content)
			return
		}
		messages = append(messages, reply)
		for _, c := range reply.ToolCalls {
			result, err := functions[c.Function.Name]([]byte(c.Function.Arguments))
			if err != nil {
				log.Fatal(err)
			}
			text, err := json.Marshal(result)
			if err != nil {
				log.Fatal(err)
			}
			content := string(text)
			messages = append(messages, message{Role: "tool", ToolCallID: c.ID, Content: &content})
		}
	}
	log.Fatal("the model still calls functions")
}

// ask returns the answer to a conversation.
func ask(messages []message) (message, error) {
	body, err := json.Marshal(map[string]any{"messages": messages, "temperature": 0, "tools": tools})
	if err != nil {
		return message{}, err
	}
	req, err := http.NewRequest("POST", cmp.Or(os.Getenv("OPENAI_BASE_URL"), "http://127.0.0.1:8080/v1")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(os.Getenv("OPENAI_API_KEY"), "none"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return message{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return message{}, fmt.Errorf("%s: %s", resp.Status, text)
	}
	var reply struct {
		Choices []struct{ Message message }
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return message{}, err
	}
	return reply.Choices[0].Message, nil
}
