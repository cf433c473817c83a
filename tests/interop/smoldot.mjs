// smoldot, a light client, with the specification and the one boot node that it is given; ends with its standard input.
// Usage: node smoldot.mjs SPEC MULTIADDR. JSON-RPC requests come as lines and its answers go as lines; what it logs goes
// between them, as {"log": text}.
import * as smoldot from 'smoldot'
import fs from 'node:fs'
import readline from 'node:readline'

const [,, path, address] = process.argv
const spec = JSON.parse(fs.readFileSync(path, 'utf8'))
spec.bootNodes = [address]
spec.telemetryEndpoints = null
const log = (_level, _target, text) => process.stdout.write(JSON.stringify({ log: text }) + '\n')
const client = smoldot.start({ maxLogLevel: 4, forbidWss: true, logCallback: log })
const chain = await client.addChain({ chainSpec: JSON.stringify(spec) })
const requests = readline.createInterface({ input: process.stdin })
requests.on('line', line => chain.sendJsonRpc(line))
requests.on('close', () => process.exit(0))
for (;;) process.stdout.write(await chain.nextJsonRpcResponse() + '\n')
