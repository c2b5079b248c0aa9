package ask

import "quern/engine/chat"

// A Conversation is built item by item, for dialects without messages
// with calls. Consecutive thinking, text and calls of the assistant are one message.
type Conversation struct {
	Messages []chat.Message
}

// last is the message that is the assistant's and not over, or nil.
func (c *Conversation) last() *chat.Message {
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Role == chat.RoleAssistant {
		return &c.Messages[n-1]
	}
	return nil
}

// Say adds a message. Words of the assistant's belong to the thinking before them.
func (c *Conversation) Say(m chat.Message) {
	if last := c.last(); m.Role == chat.RoleAssistant && last != nil && !said(last) {
		m.Reasoning = last.Reasoning
		*last = m
		return
	}
	c.Messages = append(c.Messages, m)
}

// said reports whether a message has more than thinking.
func said(m *chat.Message) bool {
	return m.Text != "" || m.Parts != nil || m.ToolCalls != nil || m.Reasoning == ""
}

// Think adds thinking, with which a message of the assistant's begins.
func (c *Conversation) Think(text string) {
	if last := c.last(); last != nil && !said(last) {
		last.Reasoning += "\n" + text
		return
	}
	c.Messages = append(c.Messages, chat.Message{Role: chat.RoleAssistant, Reasoning: text})
}

// Call adds a call of the assistant's.
func (c *Conversation) Call(call chat.Call) {
	last := c.last()
	if last == nil {
		c.Messages = append(c.Messages, chat.Message{Role: chat.RoleAssistant})
		last = c.last()
	}
	last.NoContent = last.Text == "" && last.Parts == nil
	last.ToolCalls = append(last.ToolCalls, call)
}

// Output adds the result of a call.
func (c *Conversation) Output(callID, text string) {
	c.Messages = append(c.Messages, chat.Message{Role: chat.RoleTool, ToolCallID: callID, Text: text})
}
