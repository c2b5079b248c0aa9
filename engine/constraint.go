package engine

// A Form is what a Constraint demands of a reply.
type Form string

// The forms.
const (
	FormObject  Form = "json_object" // any JSON object
	FormSchema  Form = "json_schema" // a JSON value that is valid under the JSON Schema in Source
	FormGrammar Form = "grammar"     // a text of the grammar in Source, which is llama.cpp's GBNF
	FormRegex   Form = "regex"       // a text that the regular expression in Source, as of ECMAScript, matches whole
	FormChoice  Form = "choice"      // one of Choices
)

// A Constraint says which texts a reply may be. No other is ever generated; a reply that
// a limit cuts off is the beginning of one.
type Constraint struct {
	Form    Form
	Source  string   // of FormSchema, FormGrammar and FormRegex
	Choices []string // of FormChoice
	Strict  bool     // of FormSchema: refuses what would be read as a comment

	// Param is the request field it came from; the Param of an error begins with it.
	Param string
}
