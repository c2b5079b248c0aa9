// An MCP server on stdin and stdout, with the tools that the built-in model knows.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

import { add, weather } from './check.mjs';

const server = new McpServer({ name: 'tools', version: '1' });
const offer = (t, inputSchema) =>
  server.registerTool(t.name, { description: t.description, inputSchema }, async (args) => ({ content: [{ type: 'text', text: JSON.stringify(t.run(args)) }] }));
offer(weather, { city: z.string() });
offer(add, { a: z.number().int(), b: z.number().int() });
await server.connect(new StdioServerTransport());
