// Decodes with @polkadot/api every event of every block of the node named on the command line, a JSON line a block.
import { ApiPromise, WsProvider } from '@polkadot/api';

const api = await ApiPromise.create({ provider: new WsProvider(process.argv[2]), noInitWarn: true });
const best = (await api.rpc.chain.getHeader()).number.toNumber();
const capital = (name) => name[0].toUpperCase() + name.slice(1);
for (let number = 1; number <= best; number += 1) {
  const hash = await api.rpc.chain.getBlockHash(number);
  const bytes = await api.rpc.state.getStorage(api.query.system.events.key(), hash);
  const events = api.registry.createType('Vec<FrameSystemEventRecord>', bytes.unwrap().toU8a(true));
  console.log(JSON.stringify(events.map(({ event }) => {
    const names = event.data.names;
    const values = event.data.map((value) => value.toJSON());
    const fields = names ? Object.fromEntries(names.map((name, at) => [name, values[at]])) : values;
    return [`${capital(event.section)}.${event.method}`, fields];
  })));
}
await api.disconnect();
