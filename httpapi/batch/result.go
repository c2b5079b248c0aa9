package batch

import (
	"bytes"
	"encoding/json"
)

// A result is a line of an output file.
type result struct {
	ID       string       `json:"id"`
	CustomID string       `json:"custom_id"`
	Response *response    `json:"response"`
	Error    *resultError `json:"error"`
}

type response struct {
	Status    int             `json:"status_code"`
	RequestID string          `json:"request_id"`
	Body      json.RawMessage `json:"body"`
	Warnings  []string        `json:"warnings,omitempty"` // beyond OpenAI's
}

type resultError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Codes of lines that were not answered.
const (
	CodeExpired = "batch_expired"
	CodeGaveUp  = "gave_up"
)

// Result is the line of the output file for a line that was answered.
func Result(id, customID string, a Answer) ([]byte, error) {
	body := json.RawMessage(a.Body)
	if !a.JSON || !json.Valid(body) {
		text, err := json.Marshal(string(a.Body))
		if err != nil {
			return nil, err
		}
		body = text
	}
	return line(result{ID: id, CustomID: customID, Response: &response{a.Status, a.RequestID, body, a.Warnings}})
}

// Unanswered is the line of the error file for a line that was not answered.
func Unanswered(id, customID, code, message string) ([]byte, error) {
	return line(result{ID: id, CustomID: customID, Error: &resultError{code, message}})
}

// line is r and a newline. Text stays as it is.
func line(r result) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return b.Bytes(), err
}
