// Calls one node's lp_* methods, one after the other, by each of a few clients: @chainflip/rpc over HTTP and
// WebSocket, @polkadot/rpc-provider, and fetch without a library.
//   node lp_clients.mjs <url> <file of [[method, params], …]>
// "$last" as a parameter is the result before. The last line is {client: [result or {refused: words}, …]}.
import { readFile } from 'node:fs/promises';
import { HttpClient, WsClient } from '@chainflip/rpc';
import { rpcResult } from '@chainflip/rpc/common';
import { WsProvider } from '@polkadot/rpc-provider';

globalThis.WebSocket ??= (await import('ws')).WebSocket;
const [url, file] = process.argv.slice(2);
const calls = JSON.parse(await readFile(file, 'utf8'));
const wsUrl = url.replace('http', 'ws');

// The client has a parser for one lp_* method; of the others it takes any result.
for (const [method] of calls) rpcResult[method] ??= { safeParse: (data) => ({ data }) };

async function bare(method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = await (await fetch(url, { method: 'POST', headers, body })).json();
  if (answer.id !== 7 || 'error' in answer) throw new Error(answer.error.message);
  return answer.result;
}

async function results(call) {
  const found = [];
  for (const [method, params] of calls) {
    const given = params.map((each) => (each === '$last' ? found.at(-1) : each));
    found.push(await call(method, given).catch((error) => ({ refused: error.message })));
  }
  return found;
}

const http = new HttpClient(url);
const ws = new WsClient(wsUrl);
const provider = new WsProvider(wsUrl);
await provider.isReady;
const report = {
  'http client': await results((method, params) => http.sendRequest(method, ...params)),
  'ws client': await results((method, params) => ws.sendRequest(method, ...params)),
  'polkadot provider': await results((method, params) => provider.send(method, params)),
  fetch: await results(bare),
};
await ws.close();
await provider.disconnect();
const plain = (_, value) => (typeof value === 'bigint' ? `0x${value.toString(16)}` : value);
console.log(JSON.stringify(report, plain));
