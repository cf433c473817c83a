// What do the parsers of the published @chainflip/rpc clients say of results that were never sent?
//   node chainflip_parsers.mjs <package,…> <file of {name: [method, result]}>
// The last line is {package: {name: the words of the refusal}}, without what was understood.
import { readFile } from 'node:fs/promises';

const [packages, file] = process.argv.slice(2);
const results = Object.entries(JSON.parse(await readFile(file, 'utf8')));

const report = {};
for (const name of packages.split(',')) {
  const { rpcResult } = await import(`${name}/common`);
  const known = results.filter(([, [method]]) => method in rpcResult);
  const read = known.map(([each, [method, result]]) => [each, rpcResult[method].safeParse(result)]);
  report[name] = Object.fromEntries(read.filter(([, { success }]) => !success).map(([each, { error }]) => [each, error.message]));
}
console.log(JSON.stringify(report));
