// Lets the model call a function, which the client runs, and prints the answer.
import client from '../client.mjs';

const runner = client.chat.completions.runTools({
  model: 'quern-tiny',
  messages: [{ role: 'user', content: 'What is the weather in Oslo?' }],
  temperature: 0,
  tools: [{ type: 'function', function: {
    name: 'get_weather',
    description: 'Current weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
    parse: JSON.parse,
    function: ({ city }) => ({ celsius: 21 }), // the weather is always the same
  } }],
});
console.log(await runner.finalContent());
