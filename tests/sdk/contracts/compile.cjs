// Compiles TestBed.sol: prints {contract: creation code in hex}. NODE_PATH names the folder that has solc.
const fs = require("fs");
const path = require("path");
const solc = require("solc");

const input = {
  language: "Solidity",
  sources: { "TestBed.sol": { content: fs.readFileSync(path.join(__dirname, "TestBed.sol"), "utf8") } },
  settings: {
    evmVersion: "paris",
    optimizer: { enabled: true, runs: 800 },
    outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const errors = (output.errors || []).filter((each) => each.severity === "error");
if (errors.length) throw new Error(errors.map((each) => each.formattedMessage).join("\n"));
const contracts = output.contracts["TestBed.sol"];
console.log(JSON.stringify(Object.fromEntries(
  Object.entries(contracts).map(([name, each]) => [name, each.evm.bytecode.object]),
)));
