// An agent loop whose tools are an MCP server's, in a process of its own: quern calls them in
// three dialects, and the loop has the server run them.
import Anthropic from '@anthropic-ai/sdk';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import OpenAI from 'openai';

import { BASE, KEY, MODEL, assert, check, done } from './check.mjs';

const mcp = new Client({ name: 'quern-clients', version: '1' });
await mcp.connect(new StdioClientTransport({ command: process.execPath, args: [new URL('mcpserver.mjs', import.meta.url).pathname] }));
const { tools } = await mcp.listTools();
const called = [];
const run = async (name, args) => {
  called.push([name, args]);
  const r = await mcp.callTool({ name, arguments: args });
  return r.content.map((c) => c.text).join('');
};
const openai = new OpenAI({ apiKey: KEY, baseURL: BASE, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: KEY, baseURL: BASE.replace(/\/v1$/, ''), maxRetries: 0 });
const steps = 4;

// Each loop answers a question, by as many calls as the model asks for.
const loops = {
  async chat(question) {
    const messages = [{ role: 'user', content: question }];
    const offered = tools.map((t) => ({ type: 'function', function: { name: t.name, description: t.description, parameters: t.inputSchema } }));
    for (let i = 0; i < steps; i++) {
      const { message } = (await openai.chat.completions.create({ model: MODEL, temperature: 0, max_tokens: 200, messages, tools: offered })).choices[0];
      if (!message.tool_calls) return message.content;
      messages.push(message);
      for (const c of message.tool_calls) messages.push({ role: 'tool', tool_call_id: c.id, content: await run(c.function.name, JSON.parse(c.function.arguments)) });
    }
  },
  async responses(question) {
    let input = question;
    let previous_response_id;
    const offered = tools.map((t) => ({ type: 'function', name: t.name, description: t.description, parameters: t.inputSchema }));
    for (let i = 0; i < steps; i++) {
      const r = await openai.responses.create({ model: MODEL, temperature: 0, max_output_tokens: 200, input, previous_response_id, tools: offered });
      const calls = r.output.filter((o) => o.type === 'function_call');
      if (calls.length === 0) return r.output_text;
      previous_response_id = r.id;
      input = [];
      for (const c of calls) input.push({ type: 'function_call_output', call_id: c.call_id, output: await run(c.name, JSON.parse(c.arguments)) });
    }
  },
  async messages(question) {
    const messages = [{ role: 'user', content: question }];
    const offered = tools.map((t) => ({ name: t.name, description: t.description, input_schema: t.inputSchema }));
    for (let i = 0; i < steps; i++) {
      const m = await anthropic.messages.create({ model: MODEL, temperature: 0, max_tokens: 200, messages, tools: offered });
      const calls = m.content.filter((b) => b.type === 'tool_use');
      if (calls.length === 0) return m.content.map((b) => b.text).join('');
      const content = [];
      for (const c of calls) content.push({ type: 'tool_result', tool_use_id: c.id, content: await run(c.name, c.input) });
      messages.push({ role: 'assistant', content: m.content }, { role: 'user', content });
    }
  },
};

await check('mcp: the tools are listed', async () => assert.deepEqual(tools.map((t) => t.name), ['get_weather', 'add']));
for (const [dialect, answer] of Object.entries(loops)) {
  await check(`mcp, ${dialect}: one tool`, async () => {
    called.length = 0;
    const text = await answer('What is the weather in Oslo?');
    assert.deepEqual(called, [['get_weather', { city: 'Oslo' }]]);
    assert.match(text, /21/);
  });
  await check(`mcp, ${dialect}: the other`, async () => {
    called.length = 0;
    const text = await answer('What is 17 plus 25?');
    assert.deepEqual(called, [['add', { a: 17, b: 25 }]]);
    assert.match(text, /42/);
  });
  await check(`mcp, ${dialect}: none is needed`, async () => {
    called.length = 0;
    assert.match(await answer('What is the capital of France?'), /Paris/);
    assert.deepEqual(called, []);
  });
}
await mcp.close();
done();
