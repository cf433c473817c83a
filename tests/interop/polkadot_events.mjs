// Decodes events with @polkadot/api, a JSON line for each block: of the node whose address is given, or, without
// one, of bytes that come on standard input: {"metadata": "0x…"} once, then the events of a block in each line.
import { createInterface } from 'node:readline';
import { ApiPromise, WsProvider } from '@polkadot/api';
import { Metadata, TypeRegistry } from '@polkadot/types';

const capital = (name) => name[0].toUpperCase() + name.slice(1);

function tell(registry, bytes) {
  const events = registry.createType('Vec<FrameSystemEventRecord>', bytes);
  console.log(JSON.stringify(events.map(({ event }) => {
    const names = event.data.names;
    const values = event.data.map((value) => value.toJSON());
    const fields = names ? Object.fromEntries(names.map((name, at) => [name, values[at]])) : values;
    return [`${capital(event.section)}.${event.method}`, fields];
  })));
}

async function tellBlocksOf(address) {
  const api = await ApiPromise.create({ provider: new WsProvider(address), noInitWarn: true });
  const best = (await api.rpc.chain.getHeader()).number.toNumber();
  for (let number = 1; number <= best; number += 1) {
    const hash = await api.rpc.chain.getBlockHash(number);
    const bytes = await api.rpc.state.getStorage(api.query.system.events.key(), hash);
    tell(api.registry, bytes.unwrap().toU8a(true));
  }
  await api.disconnect();
}

async function tellWhatIsGiven() {
  let registry;
  for await (const line of createInterface({ input: process.stdin })) {
    const given = JSON.parse(line);
    if (given.metadata) {
      registry = new TypeRegistry();
      registry.setMetadata(new Metadata(registry, given.metadata));
    } else {
      tell(registry, given.events);
    }
  }
}

await (process.argv[2] ? tellBlocksOf(process.argv[2]) : tellWhatIsGiven());
