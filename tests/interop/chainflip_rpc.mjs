// Asks one node by the published @chainflip/rpc clients, each through its own parsers, all that they have names for.
//   node chainflip_rpc.mjs <url> <package,…> <file of {method: [params, …]}>
// The last line is {package: {transport: {method: [null or the words of the refusal, …]}}}.
import { readFile } from 'node:fs/promises';

globalThis.WebSocket ??= (await import('ws')).WebSocket;
const [url, packages, file] = process.argv.slice(2);
const asked = JSON.parse(await readFile(file, 'utf8'));

async function refusals(client, methods) {
  const words = (call) => call.then(() => null, (error) => error.message);
  const tried = methods.map(async (method) => {
    const calls = (asked[method] ?? []).map((params) => words(client.sendRequest(method, ...params)));
    return [method, await Promise.all(calls)];
  });
  return Object.fromEntries(await Promise.all(tried));
}

const report = {};
for (const name of packages.split(',')) {
  const { HttpClient, WsClient } = await import(name);
  const { rpcResult } = await import(`${name}/common`);
  const methods = Object.keys(rpcResult);
  const ws = new WsClient(url.replace('http', 'ws'));
  report[name] = { http: await refusals(new HttpClient(url), methods), ws: await refusals(ws, methods) };
  await ws.close();
}
console.log(JSON.stringify(report));
