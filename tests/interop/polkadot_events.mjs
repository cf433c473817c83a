// Decodes events with @polkadot/api: {"metadata": "0x…"} comes on standard input, and then the events of a block in
// each line, {"events": "0x…"}; prints one line of JSON for each block.
import { createInterface } from 'node:readline';
import { Metadata, TypeRegistry } from '@polkadot/types';

const capital = (name) => name[0].toUpperCase() + name.slice(1);

function decoded(event) {
  const names = event.data.names;
  const values = event.data.map((value) => value.toJSON());
  const fields = names ? Object.fromEntries(names.map((name, at) => [name, values[at]])) : values;
  return [`${capital(event.section)}.${event.method}`, fields];
}

let registry;
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  if (given.metadata) {
    registry = new TypeRegistry();
    registry.setMetadata(new Metadata(registry, given.metadata));
  } else {
    const events = registry.createType('Vec<FrameSystemEventRecord>', given.events);
    console.log(JSON.stringify(events.map(({ event }) => decoded(event))));
  }
}
