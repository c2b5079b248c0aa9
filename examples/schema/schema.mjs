// Prints a member of a reply that is JSON of a schema.
import client from '../client.mjs';

const schema = {
  type: 'object',
  properties: {
    answer: { type: 'string', pattern: '^The capital of France is [A-Z][a-z]+[.]$' },
    sure: { type: 'boolean' },
  },
  required: ['answer', 'sure'],
  additionalProperties: false,
};

// parse fails where the reply was cut off.
const reply = await client.chat.completions.parse({
  model: 'quern-tiny',
  messages: [{ role: 'user', content: 'What is the capital of France?' }],
  temperature: 0,
  response_format: { type: 'json_schema', json_schema: { name: 'reply', strict: true, schema } },
});
console.log(JSON.parse(reply.choices[0].message.content).answer);
