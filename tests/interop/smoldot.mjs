// smoldot, a light client, with the specification and the one boot node that it is given; ends with its standard input.
// Usage: node smoldot.mjs SPEC MULTIADDR. Prints the peers it counts, as JSON lines.
import * as smoldot from 'smoldot'
import fs from 'node:fs'

const [,, path, address] = process.argv
const spec = JSON.parse(fs.readFileSync(path, 'utf8'))
spec.bootNodes = [address]
spec.telemetryEndpoints = null
const client = smoldot.start({ maxLogLevel: 3, forbidWss: true, logCallback: () => {} })
const chain = await client.addChain({ chainSpec: JSON.stringify(spec) })
setInterval(() => chain.sendJsonRpc('{"jsonrpc":"2.0","id":1,"method":"system_peers","params":[]}'), 500)
process.stdin.on('end', () => process.exit(0))
process.stdin.resume()
for (;;) process.stdout.write(await chain.nextJsonRpcResponse() + '\n')
