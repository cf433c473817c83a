// A js-libp2p node: listens over TCP and WebSocket, answers SYNC by the request reversed, and with a second argument dials that address.
// Usage: node libp2p.mjs SYNC_PROTOCOL [MULTIADDR]. Prints one JSON line when it listens and one when it has dialed;
// ends when its standard input does.
Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new Promise((a, b) => { resolve = a; reject = b })
  return { promise, resolve, reject }
}
globalThis.WebSocket ??= (await import('ws')).WebSocket
const { createLibp2p } = await import('libp2p')
const { tcp } = await import('@libp2p/tcp')
const { webSockets } = await import('@libp2p/websockets')
const { noise } = await import('@chainsafe/libp2p-noise')
const { yamux } = await import('@chainsafe/libp2p-yamux')
const { identify } = await import('@libp2p/identify')
const { ping } = await import('@libp2p/ping')
const { multiaddr } = await import('@multiformats/multiaddr')

const [,, protocol, address] = process.argv
const node = await createLibp2p({
  addresses: { listen: ['/ip4/127.0.0.1/tcp/0', '/ip4/127.0.0.1/tcp/0/ws'] },
  transports: [tcp(), webSockets()],
  connectionEncrypters: [noise()],
  streamMuxers: [yamux()],
  services: { identify: identify(), ping: ping() }
})

// One message with its length (LEB128) in front, from a stream of chunks.
async function receive (stream) {
  let data = new Uint8Array()
  for await (const chunk of stream) {
    data = Buffer.concat([data, chunk.subarray()])
    let size = 0, shift = 0, offset = 0
    while (offset < data.length) {
      size += (data[offset] & 127) * 2 ** shift
      shift += 7
      if (data[offset++] < 128) {
        if (data.length >= offset + size) return data.subarray(offset, offset + size)
        break
      }
    }
  }
  throw new Error('the stream ended early')
}

async function send (stream, data) {
  const head = []
  let rest = data.length
  while (rest > 127) { head.push(rest & 127 | 128); rest >>= 7 }
  const message = Buffer.concat([Buffer.from([...head, rest]), data])
  for (let start = 0; start < message.length; start += 65536) {
    if (!stream.send(message.subarray(start, start + 65536))) await stream.onDrain()
  }
}

await node.handle(protocol, async (stream) => {
  const request = await receive(stream)
  await send(stream, Buffer.from(request).reverse())
  await stream.close()
})

const say = (report) => process.stdout.write(JSON.stringify(report) + '\n')
say({ addresses: node.getMultiaddrs().map(String) })

if (address !== undefined) {
  const target = multiaddr(address)
  const identified = new Promise((resolve) => node.addEventListener('peer:identify', resolve, { once: true }))
  const connection = await node.dial(target)
  const roundTrip = await node.services.ping.ping(target)
  const about = (await identified).detail
  const stream = await connection.newStream(protocol)
  await send(stream, Buffer.alloc(2_000_000, 'ab'))
  const answer = await receive(stream)
  await stream.close()
  say({
    peer: connection.remotePeer.toString(), pinged: roundTrip >= 0, agent: about.agentVersion,
    version: about.protocolVersion, protocols: about.protocols, listen: about.listenAddrs.map(String),
    encryption: connection.encryption, multiplexer: connection.multiplexer,
    answer: answer.length, begins: Buffer.from(answer.subarray(0, 4)).toString()
  })
}
process.stdin.on('end', () => node.stop().then(() => process.exit(0)))
process.stdin.resume()
